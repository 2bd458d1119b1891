(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @class
(trait_declaration name: (name) @name) @class
(enum_declaration name: (name) @name) @class
(base_clause (_) @inherits)
(class_interface_clause (_) @inherits)
(use_declaration (_) @inherits)
(function_definition name: (name) @name return_type: (_)? @type) @function
(method_declaration name: (name) @name return_type: (_)? @type) @function

(namespace_use_declaration !type (namespace_use_clause [(qualified_name) (name)] @path alias: (name)? @alias)) @import
(include_expression (string) @module) @file
(include_once_expression (string) @module) @file
(require_expression (string) @module) @file
(require_once_expression (string) @module) @file

(function_call_expression function: [(name) (qualified_name)] @call)
(member_call_expression object: (_) @receiver name: (name) @call)
(nullsafe_member_call_expression object: (_) @receiver name: (name) @call)
(scoped_call_expression scope: (_) @receiver name: (name) @call)
(object_creation_expression [(name) (qualified_name)] @call)

(assignment_expression left: (variable_name) @bound right: (_) @value)
(assignment_expression left: (member_access_expression object: (variable_name) @receiver name: (name) @bound) right: (_) @value)
(property_declaration type: (_)? @type (property_element name: (variable_name (name) @bound)))
(const_declaration (const_element . (name) @bound))
(simple_parameter type: (_)? @type name: (variable_name) @bound)
(property_promotion_parameter type: (_)? @type name: (variable_name (name) @field))

(class_constant_access_expression . (_) @receiver (name) @use)
(name) @use
