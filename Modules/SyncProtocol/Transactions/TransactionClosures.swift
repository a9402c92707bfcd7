import DocStore

/// The place of a document in the store, by numbers; transaction records name documents this way.
struct StoredPlace: Hashable, Comparable {
  let collection: UInt32
  let number: DocumentNumber

  static func < (a: StoredPlace, b: StoredPlace) -> Bool {
    a.collection != b.collection ? a.collection < b.collection : a.number < b.number
  }
}

extension DocumentRun {
  /// Returns the runs of consecutive places, in ascending order.
  static func runs(of places: some Sequence<StoredPlace>) -> [DocumentRun] {
    var runs: [DocumentRun] = []
    for place in places.sorted() {
      if let last = runs.last, last.collection == place.collection,
        last.numbers.upperBound.next == place.number
      {
        runs[runs.count - 1] = DocumentRun(
          collection: last.collection, numbers: last.numbers.lowerBound...place.number)
      } else {
        runs.append(DocumentRun(collection: place.collection, numbers: place.number...place.number))
      }
    }
    return runs
  }
}

/// The connected components of the store's transaction records.
///
/// They show which documents of earlier transactions belong together.
///
/// It takes 28 bytes per run of document numbers, however long the run is: a million documents imported in
/// batches of a thousand are a thousand runs. A sweep over the sorted intervals joins runs, with a
/// union-find of the records that they come from.
///
/// Source: Tarjan, "Efficiency of a Good But Not Linear Set Union Algorithm", 1975.
struct TransactionClosures {
  /// Consecutive numbers of one collection in one closure.
  private struct Run {
    let collection: UInt32
    var closure: UInt32
    let first: DocumentNumber
    var last: DocumentNumber
  }

  /// The last commit that it covers: the one before the first question of a reconciliation.
  ///
  /// The receiver has everything as of that commit, except what it was found to lack. Later commits are in
  /// ``RecentTransactions``.
  let through: UInt64
  private(set) var isReady = false
  /// The last commit whose record was forgotten because there were more runs than `limit`.
  private(set) var forgottenThrough: UInt64?
  private let limit: Int
  private var readThrough: UInt64 = 0
  /// Sorted and disjoint up to ``sorted``, then in the order of reading.
  private var runs: [Run] = []
  private var sorted = 0
  /// The union-find forest: for each closure the one that it was merged into, or itself.
  private var parents: [UInt32] = []
  /// The runs, closure by closure, and the index at which each closure begins.
  private var order: [UInt32] = []
  private var starts: [UInt32] = [0]

  init(through: UInt64, limit: Int = 1 << 20) {
    self.through = through
    self.limit = limit
  }

  var closureCount: Int { starts.count - 1 }

  /// Reads records until the last one or until the budget is spent.
  ///
  /// - Throws: What reading throws.
  mutating func step(
    _ snapshot: borrowing ReadTransaction, concerns: (UInt32) -> Bool, access: PeerAccess,
    damaged: (DamagedLog) -> Void = { _ in }, budget: inout Int
  ) throws {
    guard !isReady else { return }
    var paused = false
    try snapshot.transactionRuns(after: readThrough, damaged: damaged) { sequence, members in
      guard sequence <= through else { return false }
      guard budget > 0 else {
        paused = true
        return false
      }
      var visits = members.count
      let relevant = try RecentTransactions.relevant(members, concerns, snapshot, access, visits: &visits)
      budget -= visits
      readThrough = sequence
      add(relevant)
      return true
    }
    if !paused { finish() }
  }

  private mutating func add(_ members: [DocumentRun]) {
    guard !members.isEmpty else { return }
    let closure = UInt32(truncatingIfNeeded: parents.count)
    parents.append(closure)
    for run in members {
      runs.append(
        Run(
          collection: run.collection, closure: closure, first: run.numbers.lowerBound,
          last: run.numbers.upperBound))
    }
    guard runs.count >= limit else { return }
    sweep()
    guard runs.count > limit / 2 else { return }
    // Documents that only older transactions bind are sent individually.
    runs = []
    sorted = 0
    parents = []
    forgottenThrough = readThrough
  }

  /// Merges runs that overlap, and renumbers the remaining closures from 0 on.
  private mutating func sweep() {
    guard sorted < runs.count else { return }
    runs.sort { a, b in a.collection != b.collection ? a.collection < b.collection : a.first < b.first }
    var end = 0
    for place in 1..<max(runs.count, 1) {
      let run = runs[place]
      if runs[end].collection == run.collection, run.first <= runs[end].last {
        unite(runs[end].closure, run.closure)
        runs[end].last = max(runs[end].last, run.last)
      } else {
        end += 1
        runs[end] = run
      }
    }
    runs.removeLast(runs.count - end - 1)
    var labels = [UInt32](repeating: .max, count: parents.count)
    var count: UInt32 = 0
    for place in runs.indices {
      let root = Int(root(runs[place].closure))
      if labels[root] == .max {
        labels[root] = count
        count += 1
      }
      runs[place].closure = labels[root]
    }
    parents = Array(0..<count)
    sorted = runs.count
  }

  private mutating func finish() {
    sweep()
    var counts = [UInt32](repeating: 0, count: parents.count + 1)
    for run in runs { counts[Int(run.closure) + 1] += 1 }
    for place in counts.indices.dropFirst() { counts[place] += counts[place - 1] }
    starts = counts
    order = [UInt32](repeating: 0, count: runs.count)
    for (place, run) in runs.enumerated() {
      order[Int(counts[Int(run.closure)])] = UInt32(truncatingIfNeeded: place)
      counts[Int(run.closure)] += 1
    }
    parents = []
    isReady = true
  }

  private mutating func unite(_ a: UInt32, _ b: UInt32) {
    let (a, b) = (root(a), root(b))
    if a != b { parents[Int(max(a, b))] = min(a, b) }
  }

  private mutating func root(_ closure: UInt32) -> UInt32 {
    var closure = closure
    while parents[Int(closure)] != closure {
      parents[Int(closure)] = parents[Int(parents[Int(closure)])]
      closure = parents[Int(closure)]
    }
    return closure
  }

  // MARK: - Lookups, once it is ready

  /// Returns the closure of a document; `nil` when it is in none.
  func closure(of place: StoredPlace) -> Int? {
    let next = firstRun(endingAtOrAfter: place)
    guard next < runs.count, runs[next].collection == place.collection, runs[next].first <= place.number
    else { return nil }
    return Int(runs[next].closure)
  }

  /// Returns the runs of a closure, by collection and number.
  func runs(of closure: Int) -> some Sequence<DocumentRun> {
    order[Int(starts[closure])..<Int(starts[closure + 1])].lazy.map { place in
      let run = runs[Int(place)]
      return DocumentRun(collection: run.collection, numbers: run.first...run.last)
    }
  }

  /// Returns the first numbers from `place` on that are in no closure; `nil` if there are none.
  ///
  /// It considers numbers up to `last`.
  func gap(from place: StoredPlace, through last: DocumentNumber) -> ClosedRange<DocumentNumber>? {
    var number = place.number
    var next = firstRun(endingAtOrAfter: place)
    while next < runs.count, runs[next].collection == place.collection, runs[next].first <= number {
      number = runs[next].last.next
      next += 1
    }
    guard number <= last else { return nil }
    guard next < runs.count, runs[next].collection == place.collection else { return number...last }
    return number...min(runs[next].first.previous, last)
  }

  /// Returns the index of the first run, by collection and number, that does not end before a place.
  private func firstRun(endingAtOrAfter place: StoredPlace) -> Int {
    var low = 0
    var high = runs.count
    while low < high {
      let middle = (low + high) / 2
      let run = runs[middle]
      let isBefore =
        run.collection != place.collection ? run.collection < place.collection : run.last < place.number
      if isBefore { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
