import Dispatch
import Synchronization

/// What a page is made of: documents of one commit, for the readers with one filter.
struct FeedPageKey: Hashable, Sendable {
  let commit: FeedCommit.Key
  let readerSet: UInt64
  /// The number of the commit's documents before the page.
  let document: Int
}

/// A batch in the form in which readers send it, such as text; readers with the same filter share it.
///
/// It counts in the room of ``FeedPages`` as long as it is referenced.
package final class FeedPage<Content: Sendable>: Sendable {
  /// The batch in the form of the readers.
  package let content: Content
  let key: FeedPageKey?
  /// The number of documents of the commit that are done after the page; `nil` if all are.
  let nextDocument: Int?
  fileprivate let byteCount: Int
  fileprivate let state = Mutex(State())
  private let pages: FeedPages<Content>

  fileprivate struct State {
    /// Ends the readers that are sending the page.
    var holders: [UInt64: @Sendable () -> Void] = [:]
    /// When a reader last took something of it.
    var progress = ContinuousClock.now
    var nextID: UInt64 = 0
  }

  fileprivate init(
    _ content: Content, _ byteCount: Int, _ key: FeedPageKey?, nextDocument: Int?, _ pages: FeedPages<Content>
  ) {
    self.content = content
    self.byteCount = byteCount
    self.key = key
    self.nextDocument = nextDocument
    self.pages = pages
  }

  deinit { pages.release(byteCount, ObjectIdentifier(self)) }

  /// Registers a reader that sends the page.
  ///
  /// - Parameter end: Ends the reader. It is called, and must be quick, if other readers need the room and
  ///   nobody has taken anything of the page for a while.
  /// - Returns: A number for ``endSending(_:)``.
  package func beginSending(orEnd end: @escaping @Sendable () -> Void) -> UInt64 {
    state.withLock { state in
      state.nextID += 1
      state.holders[state.nextID] = end
      return state.nextID
    }
  }

  /// Records that a reader takes the page, or a part of it.
  package func recordProgress() { state.withLock { $0.progress = .now } }

  /// Ends a registration.
  ///
  /// - Parameter id: The number that ``beginSending(orEnd:)`` returned.
  package func endSending(_ id: UInt64) { _ = state.withLock { $0.holders.removeValue(forKey: id) } }
}

/// The pages of the readers of any number of databases, within one bound in bytes.
///
/// A page of a commit is made once for all readers with the same filter. Pages are made one after the other
/// on one thread, so that readers leave the other threads to the writers.
package final class FeedPages<Content: Sendable>: Sendable {
  /// How a page is made of a batch.
  package struct Making: Sendable {
    let pages: FeedPages<Content>
    let make: @Sendable (FeedBatch) throws -> (content: Content, byteCount: Int)

    /// Names the pages, and how one is made.
    ///
    /// - Parameters:
    ///   - pages: The pages in whose room the page counts.
    ///   - make: Makes the content. For one database and one filter it must always make the same.
    package init(
      _ pages: FeedPages<Content>, make: @escaping @Sendable (FeedBatch) throws -> (Content, Int)
    ) {
      self.pages = pages
      self.make = make
    }

    /// Makes a page that is not shared.
    func page(of batch: FeedBatch) throws -> FeedPage<Content> {
      let (content, byteCount) = try make(batch)
      return pages.add(content, byteCount, nil, nextDocument: nil)
    }

    /// Makes a page of a commit's documents, for all readers with the same filter.
    func page(of batch: FeedBatch, _ key: FeedPageKey, nextDocument: Int?) throws -> FeedPage<Content> {
      let (content, byteCount) = try make(batch)
      return pages.add(content, byteCount, key, nextDocument: nextDocument)
    }
  }

  private struct Kept {
    let page: FeedPage<Content>
    let end: ContinuousClock.Instant
  }

  private struct Known {
    weak let page: FeedPage<Content>?
  }

  private struct State {
    /// Bytes of all pages that are referenced.
    var byteCount = 0
    var pages: [ObjectIdentifier: Known] = [:]
    /// The pages that readers may still ask for.
    var byKey: [FeedPageKey: Kept] = [:]
    /// Their keys, oldest first.
    var keys: [FeedPageKey] = []
    var keptBytes = 0
    var isTicking = false
  }

  /// The most bytes of all pages together; the last one may exceed it.
  package let byteLimit: Int
  private let queue = DispatchQueue(label: "dunlin.feed.pages")
  private let state = Mutex(State())

  /// Makes room for pages.
  ///
  /// - Parameter byteLimit: The most bytes of all pages together; the last one may exceed it.
  package init(byteLimit: Int) { self.byteLimit = byteLimit }

  /// The bytes of all pages that are referenced.
  package var byteCount: Int { state.withLock { $0.byteCount } }

  /// Runs a step of a reader on the thread on which pages are made.
  func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }

  /// The page that another reader with the same filter has made.
  func page(_ key: FeedPageKey) -> FeedPage<Content>? { state.withLock { $0.byKey[key]?.page } }

  /// Whether there is room for another page.
  ///
  /// If there is none, pages that are kept for later readers are released. Then readers are ended that have
  /// taken nothing of their page for a while, beginning with the page of which nobody has taken anything for
  /// longest. Their memory is free a moment later.
  ///
  /// - Complexity: O(*n* log *n*) for *n* pages if there is no room.
  func hasRoom() -> Bool {
    guard byteCount >= byteLimit else { return true }
    dropKept { _ in true }
    let (excess, pages) = state.withLock { ($0.byteCount - byteLimit, $0.pages.values.compactMap(\.page)) }
    guard excess >= 0 else { return true }
    endStalled(pages, excess: excess)
    return false
  }

  private func endStalled(_ pages: [FeedPage<Content>], excess: Int) {
    let limit = ContinuousClock.now - FeedLimits.stallTime
    var left = excess
    let stalled = pages.map { (page: $0, progress: $0.state.withLock { $0.progress }) }
      .filter { $0.progress < limit }.sorted { $0.progress < $1.progress }
    for (page, _) in stalled where left >= 0 {
      let ends = page.state.withLock { Array($0.holders.values) }
      guard !ends.isEmpty else { continue }
      left -= page.byteCount
      for end in ends { end() }
    }
  }

  fileprivate func add(
    _ content: Content, _ byteCount: Int, _ key: FeedPageKey?, nextDocument: Int?
  ) -> FeedPage<Content> {
    let page = FeedPage(content, byteCount, key, nextDocument: nextDocument, self)
    state.withLock { state in
      state.byteCount += byteCount
      state.pages[ObjectIdentifier(page)] = Known(page: page)
      guard let key, state.byKey[key] == nil, byteCount <= FeedLimits.keptPageBytes else { return }
      state.byKey[key] = Kept(page: page, end: .now + FeedLimits.keptPageTime)
      state.keys.append(key)
      state.keptBytes += byteCount
      scheduleTick(&state)
    }
    dropKept { _ in false }
    return page
  }

  fileprivate func release(_ byteCount: Int, _ id: ObjectIdentifier) {
    state.withLock { state in
      state.byteCount -= byteCount
      state.pages[id] = nil
    }
  }

  /// Drops the oldest pages that are kept: those beyond the bound, and as long as `condition` holds.
  private func dropKept(while condition: (ContinuousClock.Instant) -> Bool) {
    // A page is released outside of the lock.
    let dropped = state.withLock { state in
      var dropped: [FeedPage<Content>] = []
      while let key = state.keys.first, let kept = state.byKey[key],
        state.keptBytes > FeedLimits.keptPageBytes || condition(kept.end)
      {
        state.keys.removeFirst()
        state.byKey[key] = nil
        state.keptBytes -= kept.page.byteCount
        dropped.append(kept.page)
      }
      return dropped
    }
    withExtendedLifetime(dropped) {}
  }

  private func scheduleTick(_ state: inout State) {
    guard !state.isTicking else { return }
    state.isTicking = true
    queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.dropOld() }
  }

  private func dropOld() {
    let now = ContinuousClock.now
    dropKept { $0 <= now }
    state.withLock { state in
      state.isTicking = false
      if !state.keys.isEmpty { scheduleTick(&state) }
    }
  }
}
