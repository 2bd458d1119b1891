(class_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(base_list [(identifier) @inherits (qualified_name) @inherits (generic_name . (identifier) @inherits)])
(method_declaration returns: (_) @type name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @function
(local_function_statement type: (_) @type name: (identifier) @name) @function
(namespace_declaration name: (_) @name) @space
(file_scoped_namespace_declaration name: (_) @name) @space

(using_directive name: (identifier) @alias (_) @module .) @import
(using_directive . (_) @module .) @file

(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name . (identifier) @call))
(invocation_expression function: (member_access_expression expression: (_) @receiver name: (identifier) @call))
(invocation_expression function: (member_access_expression expression: (_) @receiver name: (generic_name . (identifier) @call)))
(object_creation_expression type: (identifier) @call)
(object_creation_expression type: (generic_name . (identifier) @call))

(local_declaration_statement (variable_declaration type: (_) @type (variable_declarator name: (identifier) @bound (_)? @value)))
(field_declaration (variable_declaration type: (_) @type (variable_declarator name: (identifier) @bound)))
(property_declaration type: (_) @type name: (identifier) @bound)
(parameter type: (_) @type name: (identifier) @bound)
(enum_member_declaration name: (identifier) @bound)

(member_access_expression expression: (identifier) @receiver name: (identifier) @use)
(identifier) @use
