package import CRDTCore
import QueryLanguage

/// What an issuer says about one user: texts, numbers, true and false, and lists of these, by name.
///
/// Rules read a claim as the parameter `:claims.NAME`. Every peer that the user's device meets can read them.
package struct Claims: Hashable, Sendable {
  /// The most bytes of the claims as canonical JSON.
  package static let byteLimit = 4 << 10
  /// The most bytes of a claim's name.
  package static let nameBytes = 64

  package let values: [TextKey: Value]

  /// No claims.
  package static let none = Claims(checked: [:])

  private init(checked values: [TextKey: Value]) { self.values = values }

  /// Makes claims.
  ///
  /// - Parameters:
  ///   - values: The values by name.
  ///   - path: The place in a text from which they come.
  ///   - lines: The lines of that place; `nil` if they are unknown.
  /// - Throws: `malformed` for a name or a value that claims cannot have; `limit`.
  package init(
    _ values: [TextKey: Value], at path: String = "claims", lines: JSONTextLines? = nil
  ) throws(RulesError) {
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      let line = lines?.members[name]?.line
      guard Self.isName(name.text) else {
        throw RulesError(
          .malformed,
          "a claim's name has 1 to \(Self.nameBytes) letters of ASCII, digits and underscores, no digit first",
          at: "\(path).\(name.text.prefix(Self.nameBytes))", line: line)
      }
      guard Self.isClaim(value) else {
        throw RulesError(
          .malformed, "a claim is a text, a number, true, false, or a list of these", at: "\(path).\(name)",
          line: line)
      }
    }
    guard JSON.text(of: .map(values)).utf8.count <= Self.byteLimit else {
      throw RulesText.tooLong("the claims", Self.byteLimit, at: path, line: lines?.line)
    }
    self.values = values
  }

  private static func isName(_ name: String) -> Bool {
    func isLetter(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
    }
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    guard let first = name.utf8.first, isLetter(first), name.utf8.count <= nameBytes else { return false }
    return name.utf8.allSatisfy { isLetter($0) || isDigit($0) }
  }

  private static func isClaim(_ value: Value) -> Bool {
    guard case .array(let elements) = value else { return isSimple(value) }
    return elements.allSatisfy(isSimple)
  }

  private static func isSimple(_ value: Value) -> Bool {
    switch value {
    case .string, .int, .bool: true
    case .double(let number): number.isFinite
    case .null, .counter, .decimal, .bytes, .attachment, .array, .map: false
    }
  }

  /// The values of the parameters of rules.
  ///
  /// - Parameter user: The user's id, as the certificate has it; without one, `:user.id` has no value.
  /// - Returns: The values by the parameters' names.
  package func arguments(user: String?) -> [TextKey: Value] {
    var arguments: [TextKey: Value] = [:]
    for (name, value) in values { arguments[RuleQuery.parameter(ofClaim: name)] = value }
    if let user { arguments[RuleQuery.user] = .string(user) }
    return arguments
  }
}
