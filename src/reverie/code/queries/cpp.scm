; with c
(class_specifier name: (_) @name body: (_)) @class
(base_class_clause (type_identifier) @inherits)
(base_class_clause (qualified_identifier) @inherits)
(base_class_clause (template_type name: (_) @inherits))
(namespace_definition name: (_) @name) @space
(function_definition type: (_)? @type declarator: (function_declarator declarator: (field_identifier) @name)) @function
(function_definition type: (_)? @type declarator: (function_declarator declarator: (qualified_identifier scope: (_) @of name: [(identifier) (destructor_name) (operator_name)] @name))) @function
(function_definition type: (_)? @type declarator: (reference_declarator (function_declarator declarator: (qualified_identifier scope: (_) @of name: (identifier) @name)))) @function
(function_definition type: (_)? @type declarator: (pointer_declarator declarator: (function_declarator declarator: (qualified_identifier scope: (_) @of name: (identifier) @name)))) @function
(function_definition type: (_)? @type declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))) @function
(function_definition type: (_)? @type declarator: (reference_declarator (function_declarator declarator: (field_identifier) @name))) @function

(call_expression function: (qualified_identifier scope: (_) @receiver name: (identifier) @call))
(call_expression function: (template_function name: (identifier) @call))
(new_expression type: (type_identifier) @call)
(parameter_declaration type: (_) @type declarator: (reference_declarator (identifier) @bound))
