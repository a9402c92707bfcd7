import CRDTCore

/// The functions of the query languages, by their names in DQL.
///
/// A function has a case here, and one row in the array of its family. `FunctionTable` finds a case without
/// a row when the first query is parsed.
public enum Function: String, Hashable, Sendable, CaseIterable {
  // Numbers
  case abs, ceil, floor, round, trunc, sign, power, sqrt, exp, ln, log10, pi, decimal
  // Strings; positions and lengths count Unicode scalars, from zero.
  case concat, contains
  case startsWith = "starts_with"
  case endsWith = "ends_with"
  case byteLength = "byte_length"
  case charLength = "char_length"
  case lower, upper, substr
  case position = "pos"
  case split
  case joinString = "joinstr"
  case leftTrim = "ltrim"
  case rightTrim = "rtrim"
  case trim
  case leftPad = "lpad"
  case rightPad = "rpad"
  case `repeat`
  case regexpLike = "regexp_like"
  // Arrays
  case arrayContains = "array_contains"
  case arrayContainsNull = "array_contains_null"
  case arrayLength = "array_length"
  case arraySort = "array_sort"
  case arrayDistinct = "array_distinct"
  // Objects
  case objectKeys = "object_keys"
  case objectValues = "object_values"
  case objectLength = "object_length"
  case objectSet = "object_set"
  case objectUnset = "object_unset"
  case objectConcat = "object_concat"
  case objectRename = "object_rename"
  case objectSize = "object_size"
  // Types
  case type
  case jsonType = "json_type"
  case isBoolean = "is_boolean"
  case isNumber = "is_number"
  case isString = "is_string"
  /// The second argument is the type's name as a string.
  case cast
  case serializeJSON = "serialize_json"
  case deserializeJSON = "deserialize_json"
  // Conditions
  case coalesce, nvl
  case ifMissing = "ifmissing"
  case ifNull = "ifnull"
  case isMissing = "ismissing"
  case isNull = "isnull"
  case isMissingOrNull = "ismissingornull"
  case nullIf = "nullif"
  case missingIf = "missingif"
  case decode
  /// The word EXISTS before an array.
  case exists
  // Dates: ISO 8601 texts with a time zone, or milliseconds since 1970.
  case clock
  case dateAdd = "date_add"
  case dateSub = "date_sub"
  case dateDiff = "date_diff"
  case datePart = "date_part"
  case dateTrunc = "date_trunc"
  case dateFormat = "date_format"
  case dateCast = "date_cast"
  case dateRange = "date_range"
  case zoneOffset = "tz_offset"
  case durationCast = "duration_cast"
  case durationFormat = "duration_format"
  // The statement itself
  case requestInfo = "request_info"
}

extension Function {
  /// The function of a name in lower case, also by its other names.
  package init?(name: String) {
    guard let function = FunctionTable.named[TextKey(name)] else { return nil }
    self = function
  }

  /// All names of the function, in lower case; the first one is written in subscriptions.
  package var names: [String] { [rawValue] + definition.aliases }

  /// The number of arguments of a call; `.max` means any number.
  package var arity: ClosedRange<Int> { definition.arity }

  /// Whether equal arguments always give equal results: no clock, no chance, no settings of a machine.
  package var isDeterministic: Bool { !definition.traits.contains(.dependsOnMachine) }
}
