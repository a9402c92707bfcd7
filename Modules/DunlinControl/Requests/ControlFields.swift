import CRDTCore

/// Reads the fields of a request by their types; a field that is null counts as missing.
struct ControlFields {
  private let owner: String
  private let values: [TextKey: Value]

  /// - Parameters:
  ///   - owner: The name of the request in error messages.
  ///   - values: The fields.
  init(of owner: String, _ values: [TextKey: Value]) { (self.owner, self.values) = (owner, values) }

  /// A text that the request requires.
  func text(_ name: TextKey) throws(ControlError) -> String {
    guard let text = try optionalText(name) else {
      throw ControlError(.argument, "\(owner) needs the text \"\(name.text)\"")
    }
    return text
  }

  func optionalText(_ name: TextKey) throws(ControlError) -> String? {
    try value(name, "a text") { if case .string(let text) = $0 { text } else { nil } }
  }

  func integer(_ name: TextKey) throws(ControlError) -> Int? {
    try value(name, "an integer") { if case .int(let number) = $0 { Int(exactly: number) } else { nil } }
  }

  /// An integer that is not negative.
  func count(_ name: TextKey) throws(ControlError) -> Int? {
    try value(name, "an integer from 0") {
      if case .int(let number) = $0, number >= 0 { Int(exactly: number) } else { nil }
    }
  }

  /// A boolean; false where it is missing.
  func flag(_ name: TextKey) throws(ControlError) -> Bool {
    try value(name, "true or false") { if case .bool(let flag) = $0 { flag } else { nil } } ?? false
  }

  func list(_ name: TextKey) throws(ControlError) -> [Value]? {
    try value(name, "a JSON array") { if case .array(let values) = $0 { values } else { nil } }
  }

  /// A map; empty where it is missing.
  func map(_ name: TextKey) throws(ControlError) -> [TextKey: Value] {
    try value(name, "a JSON object") { if case .map(let values) = $0 { values } else { nil } } ?? [:]
  }

  /// A field of one type.
  ///
  /// - Throws: `argument` where the field has another type, with its name and the type that it must have.
  private func value<Result>(
    _ name: TextKey, _ kind: String, _ convert: (Value) -> Result?
  ) throws(ControlError) -> Result? {
    guard let value = values[name], value != .null else { return nil }
    guard let converted = convert(value) else {
      throw ControlError(.argument, "\(owner): \"\(name.text)\" must be \(kind)")
    }
    return converted
  }
}
