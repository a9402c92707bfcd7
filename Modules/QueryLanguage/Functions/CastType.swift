import CRDTCore

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
