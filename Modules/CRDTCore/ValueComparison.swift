/// Compares containers without recursion.
///
/// A value that nothing has checked yet may be nested as deeply as memory allows.
enum ValueComparison {
  static func areEqual(_ a: Value, _ b: Value) -> Bool {
    var pending = [(a, b)]
    while let (a, b) = pending.popLast() {
      switch (a, b) {
      case (.array(let a), .array(let b)):
        guard a.count == b.count else { return false }
        for index in a.indices {
          guard compare(a[index], b[index], &pending) else { return false }
        }
      case (.map(let a), .map(let b)):
        guard a.count == b.count else { return false }
        for (key, value) in a {
          guard let index = b.index(forKey: key), b[index].key.utf8Compare(key) == 0,
            compare(value, b[index].value, &pending)
          else { return false }
        }
      default: return false
      }
    }
    return true
  }

  /// Compares two values that are not containers, and appends containers to `pending`.
  private static func compare(_ a: Value, _ b: Value, _ pending: inout [(Value, Value)]) -> Bool {
    switch (a, b) {
    case (.array, .array), (.map, .map):
      pending.append((a, b))
      return true
    default: return a == b
    }
  }
}
