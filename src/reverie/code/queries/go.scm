(function_declaration name: (identifier) @name result: (_)? @type) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: [(type_identifier) @of (pointer_type (type_identifier) @of) (generic_type type: (type_identifier) @of) (pointer_type (generic_type type: (type_identifier) @of))])) name: (field_identifier) @name result: (_)? @type) @function
(type_spec name: (type_identifier) @name) @class
(type_alias name: (type_identifier) @name) @class
(struct_type (field_declaration_list (field_declaration !name type: (_) @inherits)))
(method_elem name: (field_identifier) @name result: (_)? @type) @function

(import_spec name: (package_identifier)? @alias path: (interpreted_string_literal) @module) @import
(import_spec name: (dot) @star path: (interpreted_string_literal) @module) @import

(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (_) @receiver field: (field_identifier) @call))
(composite_literal type: (type_identifier) @call)
(composite_literal type: (qualified_type package: (package_identifier) @receiver name: (type_identifier) @call))

(short_var_declaration left: (expression_list . (identifier) @bound) right: (expression_list . (_) @value))
(short_var_declaration left: (expression_list (_) (identifier) @bound))
(var_spec name: (identifier) @bound type: (_)? @type value: (expression_list . (_) @value)?)
(const_spec name: (identifier) @bound type: (_)? @type)
(parameter_declaration name: (identifier) @bound type: (_) @type)
(field_declaration name: (field_identifier) @bound type: (_) @type)
(range_clause left: (expression_list (identifier) @bound))

(selector_expression operand: (identifier) @receiver field: (field_identifier) @use)
[(identifier) (type_identifier)] @use
