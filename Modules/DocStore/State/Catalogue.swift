import CRDTCore

/// The collections and sites that committed records refer to, or more: never fewer than a reader needs
/// that opens its snapshot first and fetches this second.
final class Catalogue: Sendable {
  let byName: [String: Collection]
  /// Indexed by a collection's number less one.
  let collections: [Collection]
  let sites: SiteTable

  static let empty = Catalogue(StoreState())

  init(_ state: StoreState) {
    collections = state.collections.map(\.collection)
    byName = Dictionary(collections.map { ($0.name, $0) }) { first, _ in first }
    sites = state.sites
  }

  func collection(_ id: UInt32) -> Collection? {
    id >= 1 && Int(id) <= collections.count ? collections[Int(id) - 1] : nil
  }
}
