import CRDTCore
import Synchronization

/// The collections and sites that committed records refer to, or more: never fewer than a reader needs
/// that opens its snapshot first and fetches this second.
final class Catalogue: Sendable {
  let byName: [TextKey: Collection]
  /// Indexed by a collection's number less one.
  let collections: [Collection]
  let sites: SiteTable
  /// No other catalogue of this process has it, and later ones have greater ones.
  let version: UInt64
  /// By a collection's number less one: the indexes that are ready, oldest first.
  private let readyIndexes: [[IndexInfo]]
  /// The first of the engine's transactions that has these indexes and no others.
  private let indexesSince: UInt64

  static let empty = Catalogue(StoreState())
  private static let versions = Atomic<UInt64>(0)

  init(_ state: StoreState) {
    collections = state.collections.map(\.collection)
    byName = Dictionary(collections.map { (TextKey($0.name), $0) }) { first, _ in first }
    sites = state.sites
    readyIndexes = state.collections.map(\.readyIndexes)
    indexesSince = state.indexesSince
    // Relaxed: that no two are the same is all that counts.
    version = Self.versions.add(1, ordering: .relaxed).newValue
  }

  func collection(_ id: UInt32) -> Collection? {
    id >= 1 && Int(id) <= collections.count ? collections[Int(id) - 1] : nil
  }

  /// Whether a snapshot of this commit has these indexes; an older one may have had others.
  func knowsIndexes(of transaction: UInt64) -> Bool { transaction >= indexesSince }

  /// Whether an index that is ready is known to be damaged.
  func hasIndex(in damaged: DamagedIndexes) -> Bool {
    readyIndexes.contains { $0.contains { damaged.includes($0.number) } }
  }

  /// The indexes of a collection that are ready, with the numbers of rows that they had when they last changed.
  func readyIndexes(of collection: UInt32) -> [IndexInfo] {
    collection >= 1 && Int(collection) <= readyIndexes.count ? readyIndexes[Int(collection) - 1] : []
  }
}
