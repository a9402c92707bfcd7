import CRDTCore

/// How a function is evaluated on values; the form settles what NULL, MISSING and wrong types mean.
///
/// Apart from the first three forms, a MISSING argument makes the result MISSING, otherwise a NULL argument
/// makes it NULL. The last argument of the closures has all values, also the one that is given unwrapped.
enum FunctionForm: Sendable {
  /// It evaluates its arguments itself, and not always all of them; in place it is an operation of its own.
  case lazy(
    ScalarNode.Operation,
    @Sendable (inout Evaluator, [Expression], (FieldPath) -> Value?) throws(QueryError) -> Value?)
  /// It has one argument, and a result for MISSING and NULL too.
  case optional(@Sendable (inout Evaluator, Value?) throws(QueryError) -> Value?)
  /// It has two arguments, and a result for MISSING and NULL too.
  case optionals(@Sendable (inout Evaluator, Value?, Value?) throws(QueryError) -> Value?)
  /// It checks the types of its arguments itself.
  case values(@Sendable (inout Evaluator, [Value]) throws(QueryError) -> Value?)
  /// The first argument is a string.
  case text(@Sendable (inout Evaluator, String, [Value]) throws(QueryError) -> Value?)
  /// It has two arguments, both strings.
  case texts(@Sendable (inout Evaluator, String, String) throws(QueryError) -> Value?)
  /// The first argument is an array.
  case array(@Sendable (inout Evaluator, [Value], [Value]) throws(QueryError) -> Value?)
  /// The first argument is an object.
  case object(@Sendable (inout Evaluator, [TextKey: Value], [Value]) throws(QueryError) -> Value?)
  /// The first argument is a date with a time zone, or milliseconds since 1970.
  case date(@Sendable (inout Evaluator, Instant, [Value]) throws(QueryError) -> Value?)
}
