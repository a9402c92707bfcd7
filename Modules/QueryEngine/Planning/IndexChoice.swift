import CRDTCore
import DocStore

/// The index that fits a filter best.
struct IndexChoice {
  /// The constants that fields must equal for the filter to be true.
  private var constants: [[String]: Value] = [:]

  /// - Complexity: O(*n*) in the filter's nodes.
  init(_ filter: Expression) { collect(filter) }

  private mutating func collect(_ expression: Expression) {
    switch expression {
    case .and(let terms): for term in terms { collect(term) }
    case .binary(.equal, .path(let path), .literal(let value)),
      .binary(.equal, .literal(let value), .path(let path)):
      // What is never equal to anything, or has no place of its own in an index, narrows nothing.
      guard value.isIndexConstant, let keys = path.keys else { return }
      constants[keys] = value
    default: break
    }
  }

  /// The scan of the index with the most leading fields that are settled, the oldest of equals.
  ///
  /// - Returns: `nil` when no index settles even its first field.
  func scan(among indexes: [IndexInfo], _ hints: Hints) -> IndexScan? {
    var best: IndexScan?
    var settled = 0
    for index in Self.candidates(indexes, hints) {
      let values = index.definition.fields.map { constants[$0.path] }.prefix { $0 != nil }
      guard values.count > settled else { continue }
      settled = values.count
      best = IndexScan(index, [.equal(Array(values))])
    }
    return best
  }

  /// What USE INDEX leaves to choose from; a name that no index has says nothing.
  private static func candidates(_ indexes: [IndexInfo], _ hints: Hints) -> [IndexInfo] {
    guard let names = hints.indexes else { return indexes }
    if names.isEmpty { return [] }
    let named = indexes.filter { names.contains($0.definition.name) }
    return named.isEmpty ? indexes : named
  }
}

extension FieldPath {
  /// The path as an index has it; `nil` for the id and for elements of arrays.
  fileprivate var keys: [String]? {
    guard first != .key("_id") else { return nil }
    var keys: [String] = []
    for component in self {
      guard case .key(let key) = component else { return nil }
      keys.append(key)
    }
    return keys
  }
}

extension Value {
  /// Whether equal values, and they alone, stand under one key of an index.
  fileprivate var isIndexConstant: Bool {
    switch self {
    case .bool, .int, .string, .bytes, .counter: true
    case .double(let number): !number.isNaN
    case .null, .array, .map, .attachment: false
    }
  }
}
