(class_declaration name: (_) @name) @class
(class name: (_) @name) @class
(class_heritage (_) @inherits)
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(field_definition property: (_) @name value: (arrow_function)) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @function
(assignment_expression left: (member_expression property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @function

(import_statement (import_clause (identifier) @alias) source: (string) @module) @default
(import_statement (import_clause (namespace_import (identifier) @alias)) source: (string) @module) @import
(import_statement (import_clause (named_imports (import_specifier name: (_) @name alias: (identifier)? @alias))) source: (string) @module) @import
(import_statement source: (string) @module) @file
(export_statement (export_clause (export_specifier name: (_) @name alias: (_)? @alias)) source: (string) @module) @import
(export_statement "*" source: (string) @module) @star
(export_statement (namespace_export (_) @alias) source: (string) @module) @import
(export_statement !source (export_clause (export_specifier name: (_) @name alias: (_) @alias))) @local
(export_statement "default" value: (identifier) @name) @main
(export_statement "default" declaration: (_ name: (_) @name)) @main
(variable_declarator name: (identifier) @alias value: (call_expression function: (identifier) @_require arguments: (arguments (string) @module)) (#eq? @_require "require")) @import
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name) value: (call_expression function: (identifier) @_require arguments: (arguments (string) @module)) (#eq? @_require "require")) @import

(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: (_) @receiver property: (property_identifier) @call))
(new_expression constructor: (identifier) @call)
(new_expression constructor: (member_expression object: (_) @receiver property: (property_identifier) @call))

(variable_declarator name: (identifier) @bound value: (_)? @value)
(assignment_expression left: (member_expression object: (this) @receiver property: (property_identifier) @bound) right: (_) @value)
(field_definition property: (property_identifier) @bound value: (_)? @value)
(formal_parameters (identifier) @bound)
(formal_parameters (assignment_pattern left: (identifier) @bound))
(arrow_function parameter: (identifier) @bound)
(catch_clause parameter: (identifier) @bound)

(member_expression object: (identifier) @receiver property: (property_identifier) @use)
(identifier) @use

(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
