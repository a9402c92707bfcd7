/// A path whose names were looked up in a key table once, so that no search compares strings.
public struct ResolvedPath: Hashable, Sendable {
  public let components: [PathComponent]
  /// Each component's id in the table that was used last; `missing` if it has none.
  private(set) var ids: [UInt16]
  /// The id of the only component, so that the usual search reads no array.
  private(set) var soleID: UInt16
  /// Whether the path is one key.
  let isSole: Bool
  private var resolvedCount = -1

  static let missing = UInt16.max

  public init(_ components: [PathComponent]) {
    self.components = components
    ids = Array(repeating: Self.missing, count: components.count)
    soleID = Self.missing
    isSole = if components.count == 1, case .key = components[0] { true } else { false }
  }

  /// Looks the names up in `keys`; does nothing if the table has not grown since the last time.
  ///
  /// A path belongs to one collection: resolve a separate copy for each.
  public mutating func resolve(in keys: KeyTable) {
    guard resolvedCount != keys.count else { return }
    resolvedCount = keys.count
    for (index, component) in components.enumerated() {
      if case .key(let name) = component { ids[index] = keys.id(of: name) ?? Self.missing }
    }
    if isSole { soleID = ids[0] }
  }

  public static func == (a: ResolvedPath, b: ResolvedPath) -> Bool { a.components == b.components }

  public func hash(into hasher: inout Hasher) { hasher.combine(components) }
}
