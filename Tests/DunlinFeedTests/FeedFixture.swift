import CRDTCore
import DocStore
import DunlinFeed
import Synchronization
import TestKit
import Testing

/// A store and those who read its changes.
final class FeedFixture: Sendable {
  let directory: TemporaryDirectory
  let store: Store
  let hub: FeedHub

  init(
    seed: UInt64 = 1, at path: String = "db", in directory: TemporaryDirectory? = nil,
    _ adjust: (inout StoreOptions) -> Void = { _ in }
  ) throws {
    self.directory = try directory ?? TemporaryDirectory()
    let random = Mutex(SeededGenerator(seed: seed))
    let clock = Clock()
    var options = StoreOptions(
      now: { clock.now }, random: { random.withLock { $0.next() } }, log: { _, _ in })
    options.collectionInterval = nil
    adjust(&options)
    time = clock
    store = try Store.open(at: self.directory.file(path), options: options)
    hub = FeedHub(store: store)
  }

  private let time: Clock

  deinit {
    hub.close()
    store.close()
  }

  private final class Clock: Sendable {
    private let time = Mutex<UInt64>(1_800_000_000_000)
    var now: UInt64 { time.withLock { $0 } }
    func advance(days: UInt64) { time.withLock { $0 += days * 86_400_000 } }
  }

  func advance(days: UInt64) { time.advance(days: days) }

  /// A reader that waits for nothing.
  func reader(
    _ query: String = "SELECT * FROM cars", after position: FeedPosition? = nil
  ) throws -> FeedReader {
    try hub.read(FeedFilter(dql: [query]), after: position)
  }

  /// Blocks, also in a task.
  @discardableResult
  func write<R>(_ body: (WriteTransaction) throws -> R) throws -> R { try store.write(body).0 }

  @discardableResult
  func put(_ id: String, _ fields: [TextKey: Value], into collection: String = "cars") throws -> CommitReceipt
  {
    try store.write { try $0.upsert(fields, id: DocumentID(id), into: collection) }.1
  }

  func remove(_ id: String) throws { try store.write { _ = try $0.remove(DocumentID(id), in: "cars") } }

  func evict(_ id: String) throws { try store.write { _ = try $0.evict(DocumentID(id), in: "cars") } }
}

extension FeedReader {
  /// All that there is now, and where to go on from.
  func all() async throws -> FeedBatch {
    var (items, position) = ([FeedItem](), self.position)
    while let batch = try await next(waiting: .zero) {
      position = batch.position
      guard !batch.items.isEmpty else { break }
      items += batch.items
    }
    return FeedBatch(items: items, position: position)
  }

  /// The same in short words.
  func words() async throws -> [String] { try await all().items.map(\.words) }
}

extension FeedItem {
  /// What the event says: `+a {n: 1} <- {n: 0}`.
  var words: String {
    switch event {
    case .change(let change):
      let sign =
        switch change.method {
        case .upsert: "+"
        case .update: "="
        case .remove: "-"
        }
      let id: String = if case .string(let id) = change.id.value { id } else { "?" }
      return
        "\(sign)\(id) \(change.newValue.words) <- \(change.oldValue.words)\(change.isResumed ? " log" : "")"
    case .requeryRequired(let gap, _): return "requery \(gap.rawValue)"
    case .damaged(let collection, let id, _): return "damaged \(collection) \(id == nil ? "?" : "id")"
    }
  }
}

extension FeedChange.Known {
  var words: String {
    switch self {
    case .unknown: "?"
    case .none: "none"
    case .fields(let fields):
      fields.filter { $0.key != "_id" }.sorted { $0.key < $1.key }
        .map { "\($0.key.text)=\(JSON.text(of: $0.value))" }.joined(separator: ",")
    }
  }
}
