(class_declaration name: (_) @name) @class
(abstract_class_declaration name: (_) @name) @class
(class name: (_) @name) @class
(interface_declaration name: (_) @name) @class
(enum_declaration name: (_) @name) @class
(type_alias_declaration name: (_) @name) @class
(class_heritage (extends_clause value: (_) @inherits))
(class_heritage (implements_clause (type_identifier) @inherits))
(extends_type_clause type: (type_identifier) @inherits)
(function_declaration name: (identifier) @name return_type: (type_annotation)? @type) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name return_type: (type_annotation)? @type) @function
(method_signature name: (_) @name return_type: (type_annotation)? @type) @function
(abstract_method_signature name: (_) @name return_type: (type_annotation)? @type) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(public_field_definition name: (_) @name value: (arrow_function)) @function
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

(variable_declarator name: (identifier) @bound type: (type_annotation)? @type value: (_)? @value)
(assignment_expression left: (member_expression object: (this) @receiver property: (property_identifier) @bound) right: (_) @value)
(public_field_definition name: (property_identifier) @bound type: (type_annotation)? @type value: (_)? @value)
(property_signature name: (property_identifier) @bound type: (type_annotation)? @type)
(required_parameter (accessibility_modifier) pattern: (identifier) @field type: (type_annotation)? @type)
(required_parameter pattern: (identifier) @bound type: (type_annotation)? @type)
(optional_parameter pattern: (identifier) @bound type: (type_annotation)? @type)
(arrow_function parameter: (identifier) @bound)
(catch_clause parameter: (identifier) @bound)

(member_expression object: (identifier) @receiver property: (property_identifier) @use)
[(identifier) (type_identifier)] @use
