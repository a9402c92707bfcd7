package import CRDTCore

/// Fields of a message between a peer and whoever steers it; a field that is not there is empty.
extension [TextKey: Value] {
  package func text(_ key: String) -> String { if case .string(let text)? = self[key] { text } else { "" } }

  package func number(_ key: String) -> Int {
    if case .int(let number)? = self[key] { Int(clamping: number) } else { 0 }
  }

  package func flag(_ key: String) -> Bool { self[key] == .bool(true) }

  package func fields(_ key: String) -> [TextKey: Value] {
    if case .map(let fields)? = self[key] { fields } else { [:] }
  }

  package func list(_ key: String) -> [[TextKey: Value]] {
    guard case .array(let values)? = self[key] else { return [] }
    return values.compactMap { if case .map(let fields) = $0 { fields } else { nil } }
  }
}
