#if Server
  /// Queries many items, a limited number at a time, and does not wait for late ones.
  package enum TimedRound {
    /// Calls `body` with each item.
    ///
    /// - Parameters:
    ///   - items: The devices or peers to query.
    ///   - time: The time limit for all of them; `body` is cancelled then.
    ///   - width: The number of items that are queried at the same time.
    ///   - body: Queries one item.
    /// - Returns: The responses in the order of the items; `nil` for each that did not arrive in time.
    package static func run<Item: Sendable, Answer: Sendable>(
      _ items: [Item], within time: Duration, width: Int,
      _ body: @escaping @Sendable (Item) async -> Answer
    ) async -> [Answer?] {
      await run(items, width: width, until: { try? await Task.sleep(for: time) }, body)
    }

    /// Calls `body` with each item, until `end` returns.
    static func run<Item: Sendable, Answer: Sendable>(
      _ items: [Item], width: Int, until end: @escaping @Sendable () async -> Void,
      _ body: @escaping @Sendable (Item) async -> Answer
    ) async -> [Answer?] {
      var answers = [Answer?](repeating: nil, count: items.count)
      await withTaskGroup(of: (place: Int, answer: Answer)?.self) { group in
        group.addTask {
          await end()
          return nil
        }
        var next = items.indices.makeIterator()
        func begin() {
          guard let place = next.next() else { return }
          let item = items[place]
          group.addTask { (place, await body(item)) }
        }
        for _ in 0..<width { begin() }
        var missing = items.count
        while missing > 0, case .some(.some(let (place, answer))) = await group.next() {
          answers[place] = answer
          missing -= 1
          begin()
        }
        group.cancelAll()
      }
      return answers
    }
  }
#endif
