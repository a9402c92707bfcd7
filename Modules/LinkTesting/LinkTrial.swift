import Links
import Synchronization

/// One pair of links with their users, on which one promise is checked.
final class LinkTrial: Sendable {
  /// The references that the trial itself releases at its end.
  private struct Holdings {
    var pair: LinkPair?
    var near: WatchingUser?
    var far: WatchingUser?
    var problems: [String] = []
  }

  let options: LinkConformanceOptions
  private let holdings: Mutex<Holdings>

  init(_ options: LinkConformanceOptions) {
    self.options = options
    holdings = Mutex(Holdings())
  }

  var problems: [String] { holdings.withLock { $0.problems } }

  func fail(_ problem: String) { holdings.withLock { $0.problems.append(problem) } }

  func expect(_ condition: Bool, _ problem: @autoclosure () -> String) { if !condition { fail(problem()) } }

  /// Waits until `condition` holds, and records a problem if it does not hold in time.
  ///
  /// - Parameters:
  ///   - what: What is waited for, for the report.
  ///   - progress: A figure that grows meanwhile, such as bytes received. The patience begins again with each
  ///     change.
  ///   - condition: What must come to hold.
  /// - Returns: Whether it holds.
  @discardableResult
  func wait(
    for what: String, counting progress: () -> Int = { 0 }, until condition: () -> Bool
  ) async -> Bool {
    var (last, end) = (progress(), ContinuousClock.now + options.patience)
    while !condition() {
      let now = progress()
      if now != last { (last, end) = (now, ContinuousClock.now + options.patience) }
      guard ContinuousClock.now < end, !Task.isCancelled else {
        fail("\(what) did not come within \(options.patience)")
        return false
      }
      try? await Task.sleep(for: .milliseconds(1))
    }
    return true
  }

  /// Waits long enough for something forbidden to happen.
  func settle() async { try? await Task.sleep(for: options.quiet) }

  /// Waits, for a moment at most, until a user that has no room was asked for some.
  ///
  /// A link may ask only when there is something to read.
  func settleUntilRefused(_ user: WatchingUser) async {
    let end = ContinuousClock.now + options.quiet
    while !user.hasRefused, ContinuousClock.now < end { try? await Task.sleep(for: .milliseconds(1)) }
  }

  /// Waits until a number no longer changes.
  func settle(_ figure: () -> Int) async {
    var last = -1
    while last != figure() {
      last = figure()
      await settle()
    }
  }

  // MARK: - The ends

  /// The two ends and their users; the users are made here and not attached.
  struct Ends {
    let near: any Link
    let far: any Link
    let nearUser: WatchingUser
    let farUser: WatchingUser

    func attach() {
      far.attach(farUser)
      near.attach(nearUser)
    }
  }

  /// Makes the users; without a pattern they store what arrives.
  func ends(
    patterned: Bool = true, nearRoom: Int = .max, farRoom: Int = .max,
    nearReceived: @escaping @Sendable (any Link, [UInt8]) -> Void = { _, _ in },
    farReceived: @escaping @Sendable (any Link, [UInt8]) -> Void = { _, _ in }
  ) -> Ends? {
    guard let pair = holdings.withLock({ $0.pair }) else { return nil }
    let near = WatchingUser(
      "The near end", on: pair.near.executor, expecting: patterned ? .homeward : nil, room: nearRoom
    ) { [weak link = pair.near] bytes in if let link { nearReceived(link, bytes) } }
    let far = WatchingUser(
      "The far end", on: pair.far.executor, expecting: patterned ? .outward : nil, room: farRoom
    ) { [weak link = pair.far] bytes in if let link { farReceived(link, bytes) } }
    holdings.withLock { ($0.near, $0.far) = (near, far) }
    return Ends(near: pair.near, far: pair.far, nearUser: near, farUser: far)
  }

  // MARK: - The run

  /// Checks one promise on the pair that `makePair` makes; nothing else may keep that pair.
  func run(_ promise: LinkPromise, _ makePair: () async throws -> LinkPair) async {
    do {
      let pair = try await makePair()
      holdings.withLock { $0.pair = pair }
    } catch {
      return fail("The links could not be made: \(error)")
    }
    await check(promise)
    let takeDown = await closeAll()
    let remains = letGo()
    if promise == .usersAreReleased {
      for (what, isGone) in remains { await wait(for: "The release of \(what)", until: isGone) }
    }
    await takeDown()
  }

  /// Closes what is still open, and checks for calls that come too late.
  ///
  /// - Returns: A function that shuts the carrier down.
  private func closeAll() async -> @Sendable () async -> Void {
    let (pair, near, far) = holdings.withLock { ($0.pair, $0.near, $0.far) }
    guard let pair else { return {} }
    for link in [pair.near, pair.far] { link.close(LinkError(.closed, "The check is over")) }
    if let near, let far {
      for user in [near, far] { user.setRoom(.max) }
      for link in [pair.near, pair.far] { link.resumeReading() }
      for (user, name) in [(near, "near"), (far, "far")] {
        await wait(for: "The end of both directions at the closed \(name) end") { user.hasEnded }
      }
      await settle()
      holdings.withLock { $0.problems += near.current.problems + far.current.problems }
    }
    return pair.takeDown
  }

  /// Releases everything.
  ///
  /// - Returns: The objects that must be deallocated, and whether they are.
  private func letGo() -> [(what: String, isGone: () -> Bool)] {
    let (pair, near, far) = holdings.withLock { holdings in
      defer { (holdings.pair, holdings.near, holdings.far) = (nil, nil, nil) }
      return (holdings.pair, holdings.near, holdings.far)
    }
    weak let nearLink = pair?.near
    weak let farLink = pair?.far
    weak let nearUser = near
    weak let farUser = far
    return [
      ("the near end's user", { nearUser == nil }), ("the far end's user", { farUser == nil }),
      ("the near end", { nearLink == nil }), ("the far end", { farLink == nil }),
    ]
  }
}
