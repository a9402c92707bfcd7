import CRDTCore
import Synchronization

/// The collections and sites that committed records refer to, and possibly more.
///
/// It never has fewer than a reader needs that first opens its snapshot and then gets the catalogue.
final class Catalogue: Sendable {
  let byName: [TextKey: Collection]
  /// Indexed by a collection's number minus one.
  let collections: [Collection]
  let sites: SiteTable
  /// Unique in this process; later catalogues have greater versions.
  let version: UInt64
  /// By a collection's number minus one: the indexes that are ready, oldest first.
  private let readyIndexes: [[IndexInfo]]
  /// The engine's first transaction that has exactly these indexes.
  private let indexesSince: UInt64

  static let empty = Catalogue(StoreState())
  private static let versions = Atomic<UInt64>(0)

  init(_ state: StoreState) {
    collections = state.collections.map(\.collection)
    byName = Dictionary(collections.map { (TextKey($0.name), $0) }) { first, _ in first }
    sites = state.sites
    readyIndexes = state.collections.map(\.readyIndexes)
    indexesSince = state.indexesSince
    // Relaxed: only uniqueness matters.
    version = Self.versions.add(1, ordering: .relaxed).newValue
  }

  func collection(_ id: UInt32) -> Collection? {
    id >= 1 && Int(id) <= collections.count ? collections[Int(id) - 1] : nil
  }

  /// Whether a snapshot of this commit has exactly these indexes; an older one may have had others.
  func knowsIndexes(of transaction: UInt64) -> Bool { transaction >= indexesSince }

  /// Whether a ready index is known to be damaged.
  func hasIndex(in damaged: DamagedIndexes) -> Bool {
    readyIndexes.contains { $0.contains { damaged.includes($0.number) } }
  }

  /// The ready indexes of a collection, with the numbers of rows at their last change.
  func readyIndexes(of collection: UInt32) -> [IndexInfo] {
    collection >= 1 && Int(collection) <= readyIndexes.count ? readyIndexes[Int(collection) - 1] : []
  }
}
