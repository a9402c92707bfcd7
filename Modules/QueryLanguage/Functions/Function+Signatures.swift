import CRDTCore

extension Function {
  /// The number of arguments of a call; `.max` means any number.
  package var arity: ClosedRange<Int> {
    switch self {
    case .pi, .requestInfo: 0...0
    case .clock: 0...2
    case .sign, .sqrt, .exp, .ln, .log10, .decimal, .arraySort, .arrayDistinct: 1...1
    case .round, .trunc, .dateCast, .zoneOffset, .durationCast, .durationFormat: 1...2
    case .power, .dateTrunc: 2...2
    case .datePart, .dateFormat: 2...3
    case .dateDiff: 3...3
    case .dateAdd, .dateSub: 3...5
    case .dateRange: 3...6
    case .abs, .ceil, .floor, .byteLength, .charLength, .lower, .upper: 1...1
    case .arrayLength, .arrayContainsNull, .objectKeys, .objectValues, .objectLength, .objectSize: 1...1
    case .type, .jsonType, .isBoolean, .isNumber, .isString, .serializeJSON, .deserializeJSON: 1...1
    case .isMissing, .isNull, .isMissingOrNull, .exists: 1...1
    case .trim, .leftTrim, .rightTrim: 1...2
    case .contains, .startsWith, .endsWith, .position, .split, .repeat, .arrayContains, .cast: 2...2
    case .nullIf, .missingIf: 2...2
    case .substr, .leftPad, .rightPad, .regexpLike, .objectUnset, .nvl: 2...3
    case .objectRename: 3...3
    case .objectSet: 3...4
    case .concat, .objectConcat, .coalesce, .ifMissing, .ifNull: 1...Int.max
    case .joinString: 2...Int.max
    case .decode: 3...Int.max
    }
  }

  /// The function of a name in lower case, also by its other names.
  package init?(name: String) {
    switch TextKey(name) {
    case "character_length": self = .charLength
    case "position": self = .position
    case "ifmissingornull": self = .coalesce
    // It is the name of an operator.
    case "exists": return nil
    default: self.init(rawValue: name)
    }
  }
}

/// The target types of CAST.
enum CastType {
  case boolean, integer, float, string, binary

  /// The type names that errors suggest.
  static let names = ["boolean", "integer", "float", "string", "binary"]

  init?(name: String) {
    switch TextKey(name) {
    case "boolean", "bool": self = .boolean
    case "integer", "int", "bigint": self = .integer
    case "float", "double", "real": self = .float
    case "string", "text", "varchar": self = .string
    case "binary": self = .binary
    default: return nil
    }
  }
}
