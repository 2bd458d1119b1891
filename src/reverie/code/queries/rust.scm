(function_item name: (_) @name return_type: (_)? @type) @function
(function_signature_item name: (_) @name return_type: (_)? @type) @function
(struct_item name: (_) @name) @class
(enum_item name: (_) @name) @class
(union_item name: (_) @name) @class
(trait_item name: (_) @name) @class
(type_item name: (_) @name) @class
(macro_definition name: (_) @name) @function
(mod_item name: (_) @name body: (_)) @space
(mod_item name: (_) @module !body) @import
(impl_item type: [(type_identifier) @of (generic_type type: (type_identifier) @of)]) @impl
(impl_item trait: [(type_identifier) @inherits (scoped_type_identifier) @inherits (generic_type type: (_) @inherits)])
(const_item name: (_) @bound type: (_) @type)
(static_item name: (_) @bound type: (_) @type)

(use_declaration argument: (_) @tree) @import

(call_expression function: (identifier) @call)
(call_expression function: (field_expression value: (_) @receiver field: (field_identifier) @call))
(call_expression function: (scoped_identifier path: (_) @receiver name: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (scoped_identifier path: (_) @receiver name: (identifier) @call)))
(call_expression function: (generic_function function: (field_expression value: (_) @receiver field: (field_identifier) @call)))
(macro_invocation macro: (identifier) @call)
(struct_expression name: (type_identifier) @call)

(let_declaration pattern: (identifier) @bound type: (_)? @type value: (_)? @value)
(parameter pattern: (identifier) @bound type: (_) @type)
(closure_parameters (identifier) @bound)
(field_declaration name: (field_identifier) @bound type: (_) @type)

(scoped_identifier path: (identifier) @receiver name: (identifier) @use)
[(identifier) (type_identifier)] @use
