(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(annotation_type_declaration name: (identifier) @name) @class
(superclass [(type_identifier) (scoped_type_identifier)] @inherits)
(superclass (generic_type . (type_identifier) @inherits))
(super_interfaces (type_list [(type_identifier) @inherits (generic_type . (type_identifier) @inherits)]))
(extends_interfaces (type_list [(type_identifier) @inherits (generic_type . (type_identifier) @inherits)]))
(method_declaration type: (_) @type name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @function

(import_declaration (scoped_identifier scope: (_) @module name: (identifier) @name) .) @import
(import_declaration (scoped_identifier) @module (asterisk) @star) @import

(method_invocation !object name: (identifier) @call)
(method_invocation object: (_) @receiver name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type . (type_identifier) @call))

(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @bound value: (_)? @value))
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @bound))
(formal_parameter type: (_) @type name: (identifier) @bound)
(enhanced_for_statement type: (_) @type name: (identifier) @bound)
(enum_constant name: (identifier) @bound)

(field_access object: (identifier) @receiver field: (identifier) @use)
[(identifier) (type_identifier)] @use
