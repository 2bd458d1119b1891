(function_definition type: (_) @type declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition type: (_) @type declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @function
(struct_specifier name: (type_identifier) @name body: (_)) @class
(union_specifier name: (type_identifier) @name body: (_)) @class
(enum_specifier name: (type_identifier) @name body: (_)) @class
(type_definition type: [(primitive_type) (sized_type_specifier) (type_identifier) (struct_specifier !name) (union_specifier !name) (enum_specifier !name)] declarator: (type_identifier) @name) @class
(type_definition type: (struct_specifier name: (type_identifier) @type) declarator: (type_identifier) @bound)
(preproc_function_def name: (identifier) @name) @function
(preproc_def name: (identifier) @bound)

(preproc_include path: [(string_literal) (system_lib_string)] @module) @file

(call_expression function: (identifier) @call)
(call_expression function: (field_expression argument: (_) @receiver field: (field_identifier) @call))

(declaration type: (_) @type declarator: (identifier) @bound)
(declaration type: (_) @type declarator: (init_declarator declarator: (identifier) @bound value: (_) @value))
(declaration type: (_) @type declarator: (init_declarator declarator: (pointer_declarator declarator: (identifier) @bound)))
(declaration type: (_) @type declarator: (pointer_declarator declarator: (identifier) @bound))
(parameter_declaration type: (_) @type declarator: (identifier) @bound)
(parameter_declaration type: (_) @type declarator: (pointer_declarator declarator: (identifier) @bound))
(field_declaration type: (_) @type declarator: (field_identifier) @bound)
(field_declaration type: (_) @type declarator: (pointer_declarator declarator: (field_identifier) @bound))
(enumerator name: (identifier) @bound)

[(identifier) (type_identifier)] @use
