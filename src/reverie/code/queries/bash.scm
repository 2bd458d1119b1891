(function_definition name: (word) @name) @function
(command name: (command_name (word) @_source) . argument: (_) @module (#any-of? @_source "source" ".")) @file
(command name: (command_name (word) @call))
(variable_assignment name: (variable_name) @bound)
(variable_name) @use
