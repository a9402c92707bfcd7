/// Reads members of a JSON object by their types; a member that is missing or has another type is `nil`.
extension [TextKey: Value] {
  package func string(_ name: TextKey) -> String? {
    if case .string(let text)? = self[name] { text } else { nil }
  }

  package func integer(_ name: TextKey) -> Int? {
    if case .int(let number)? = self[name] { Int(number) } else { nil }
  }

  package func boolean(_ name: TextKey) -> Bool? {
    if case .bool(let flag)? = self[name] { flag } else { nil }
  }

  package func elements(_ name: TextKey) -> [Value]? {
    if case .array(let values)? = self[name] { values } else { nil }
  }

  package func members(_ name: TextKey) -> [TextKey: Value]? {
    if case .map(let values)? = self[name] { values } else { nil }
  }

  /// The maps in a list; other elements are left out.
  package func objects(_ name: TextKey) -> [[TextKey: Value]] {
    (elements(name) ?? []).compactMap { if case .map(let values) = $0 { values } else { nil } }
  }

  /// The texts in a list; other elements are left out.
  package func strings(_ name: TextKey) -> [String] {
    (elements(name) ?? []).compactMap { if case .string(let text) = $0 { text } else { nil } }
  }
}

extension Value {
  /// An integer with the value of a count, clamped to 64 bits.
  package static func count(_ number: some BinaryInteger) -> Value { .int(Int64(clamping: number)) }
}
