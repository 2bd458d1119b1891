(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name return_type: (type)? @type) @function

(class_definition superclasses: (argument_list [(identifier) (attribute)] @inherits))
(class_definition superclasses: (argument_list (subscript value: [(identifier) (attribute)] @inherits)))

(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @name) @import
(import_from_statement module_name: (_) @module name: (aliased_import name: (dotted_name) @name alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @star) @import

(call function: (identifier) @call)
(call function: (attribute object: (_) @receiver attribute: (identifier) @call))
(decorator (identifier) @call)
(decorator (attribute object: (_) @receiver attribute: (identifier) @call))

(assignment left: (identifier) @bound type: (type)? @type right: (_)? @value)
(assignment left: (attribute object: (identifier) @receiver attribute: (identifier) @bound) type: (type)? @type right: (_)? @value)
(assignment left: (pattern_list (identifier) @bound))
(named_expression name: (identifier) @bound value: (_) @value)
(as_pattern (_) @value alias: (as_pattern_target (identifier) @bound))
(for_statement left: (identifier) @bound)
(for_statement left: (pattern_list (identifier) @bound))
(for_in_clause left: (identifier) @bound)
(for_in_clause left: (pattern_list (identifier) @bound))
(parameters (identifier) @bound)
(lambda_parameters (identifier) @bound)
(default_parameter name: (identifier) @bound)
(typed_parameter (identifier) @bound type: (type) @type)
(typed_default_parameter name: (identifier) @bound type: (type) @type)

(attribute object: (identifier) @receiver attribute: (identifier) @use)
(identifier) @use
