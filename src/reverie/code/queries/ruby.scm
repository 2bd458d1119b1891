(class name: (_) @name) @class
(module name: (_) @name) @class
(superclass (_) @inherits)
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function
(call method: (identifier) @_mixin arguments: (argument_list (constant) @inherits) (#any-of? @_mixin "include" "extend" "prepend"))

(call method: (identifier) @_require arguments: (argument_list (string (string_content) @module)) (#any-of? @_require "require" "require_relative" "load")) @file

(call !receiver method: (identifier) @call)
(call receiver: (_) @receiver method: [(identifier) (constant)] @call)
(body_statement (identifier) @maybe)
(program (identifier) @maybe)
(then (identifier) @maybe)

(assignment left: [(identifier) (constant) (instance_variable)] @bound right: (_) @value)
(method_parameters (identifier) @bound)
(method_parameters (optional_parameter name: (identifier) @bound))
(method_parameters (keyword_parameter name: (identifier) @bound))
(block_parameters (identifier) @bound)

[(identifier) (constant)] @use
