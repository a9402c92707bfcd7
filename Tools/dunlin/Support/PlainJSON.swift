import CRDTCore

/// Documents as JSON without tags, and how many of their values lost their type so.
struct PlainJSON {
  /// Counters, bytes, attachments, and numbers that are none in JSON.
  private(set) var lostCount = 0

  /// The value with what JSON has types for alone.
  mutating func plain(_ value: Value) -> Value {
    switch value {
    case .null, .bool, .int, .string: return value
    case .double(let number):
      if number.isFinite { return value }
      lostCount += 1
      return .null
    case .counter(let sum):
      lostCount += 1
      return .int(sum)
    case .bytes(let bytes):
      lostCount += 1
      return .string(JSON.base64(bytes))
    case .attachment(let token):
      lostCount += 1
      return .map([
        "id": .string(JSON.base64(token.id)), "bytes": .int(Int64(clamping: token.byteCount)),
        "metadata": .map(token.metadata.mapValues { .string($0.text) }),
      ])
    // No document holds one.
    case .decimal(let number): return .string(number.text)
    case .array(let elements): return .array(elements.map { plain($0) })
    case .map(let fields): return .map(fields.mapValues { plain($0) })
    }
  }
}
