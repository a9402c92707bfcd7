import CRDTCore
import DocStore

/// A field in the conditions of a query that no document of its collection has or ever had.
struct UnknownField: Hashable, Sendable {
  let collection: TextKey
  let name: TextKey
  /// A similar field name of the collection.
  let nearest: String?

  var message: String {
    "a query asks for the field '\(name.text.prefix(64))', which no document of '\(collection.text)' has"
      + (nearest.map { ": did you mean '\($0.prefix(64))'?" } ?? "")
  }
}

extension UnknownField {
  /// The fields in conditions on some sources that are not in the collections' tables of names.
  ///
  /// Collections without documents, and names of maps below the root, are not checked.
  static func all(
    in conditions: [Expression], of sources: [Source], _ catalogue: QueryCatalogue
  ) -> [UnknownField] {
    conditions.flatMap(\.rootFields).compactMap { place, name in
      guard name != "_id", sources.indices.contains(place),
        let keys = catalogue[sources[place].collection]?.collection.keys, keys.count > 0, keys.rulesOut(name)
      else { return nil }
      return UnknownField(
        collection: sources[place].$collection, name: name,
        nearest: NameDistance.nearest(to: name.text, among: keys.names))
    }
  }
}

extension Expression {
  /// The first keys of the paths that are read, with their sources.
  fileprivate var rootFields: [(source: Int, name: TextKey)] {
    switch self {
    case .path(let path): path.first?.key.map { [(0, $0)] } ?? []
    case .field(let source, let path): path.first?.key.map { [(source, $0)] } ?? []
    default: children.flatMap(\.rootFields)
    }
  }
}

extension PathComponent {
  fileprivate var key: TextKey? {
    switch self {
    case .key(let key): key
    case .index: nil
    }
  }
}
