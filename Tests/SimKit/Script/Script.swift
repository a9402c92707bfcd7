package import CRDTCore

/// Microseconds of virtual time.
package typealias SimTime = Int64

/// Who there is and what happens to them: what a run is a function of, drawn from a seed or read from a file.
package struct Script: Codable, Hashable, Sendable {
  package var seed: UInt64
  package var rules: Rules
  package var peers: [PeerPlan]
  package var links: [LinkPlan]
  /// In the order of their times.
  package var events: [ScriptEvent]

  /// When the last event happens.
  package var duration: SimTime { events.last?.at ?? 0 }
}

/// What the events of a script keep to, so that more can be promised of the outcome.
package struct Rules: Codable, Hashable, Sendable {
  package var collections = 2
  /// Ids that a collection may have.
  package var documents = 8
  /// Subscriptions are those of the beginning, and whoever forwards subscribes to everything.
  package var hasFixedInterests = true
  /// Scopes are those of the beginning.
  package var hasFixedScopes = true
  /// No scope keeps anything back.
  package var hasNoScopes = true
  /// Deletions are remembered for as long as the run lasts.
  package var keepsDeletions = true
  /// No store is put back or copied.
  package var hasNoCopies = true
  /// Collections of which some peer's records rot: what nobody has whole any more cannot get anywhere.
  package var rotten: Set<Int>?
  /// No default data, whose differences vectors do not tell.
  package var hasNoDefaults = true
  /// Nothing is evicted.
  package var hasNoEvictions = true

  package init() {}
}

/// What a peer is set up with.
package struct PeerPlan: Codable, Hashable, Sendable {
  package var isBig = false
  /// How far its wall clock is off at the beginning, in milliseconds.
  package var clockOffset: Int64 = 0
  /// How much faster its clocks run, in millionths.
  package var clockDrift: Int64 = 0
  package var subscriptions: [SubscriptionPlan] = []
  /// One number of `SyncScope.allCases` for each collection; empty: all flow.
  package var scopes: [Int] = []
  package var hardDocumentBytes = Limits.hardDocumentBytes
  /// `nil` goes by how fast each link shows itself.
  package var compressionLevel: Int? = 1
  package var liveQueueBytes = 16 << 20
  package var windowBytes = 32 << 10
  /// After this long without a word a link is taken for dead, in milliseconds.
  package var silence = 30_000
  /// How long its threads make each other wait, in microseconds.
  package var slowness = 100
  /// Draws the numbers that shape sessions; zero leaves them as they are.
  package var tuning = 0
  /// Draws how much its sessions may hold in memory; `nil` leaves that as it is.
  package var memory: Int?
  /// Draws when its sessions change who tells whom what it holds; `nil` leaves that as it is.
  package var telling: Int?
  /// Observed queries, by number.
  package var observed: [Int] = []

  package init() {}
}

/// A query that a peer subscribes to.
package struct SubscriptionPlan: Codable, Hashable, Sendable, CustomStringConvertible {
  package var description: String { text }

  package var collection: Int
  package var form: Form
  /// Whether what matched it, and matches nothing any more, is let go of.
  package var evicts: Bool?

  package enum Form: Int, Codable, Hashable, Sendable, CaseIterable {
    /// Everything.
    case all
    /// What never changes of a document decides.
    case even, odd
    /// What changes decides.
    case high, red, highAndOdd
  }

  package init(_ collection: Int, _ form: Form) {
    self.collection = collection
    self.form = form
  }

  package var text: String {
    let condition =
      switch form {
      case .all: ""
      case .even: " WHERE kind = 'even'"
      case .odd: " WHERE kind = 'odd'"
      case .high: " WHERE n > 3"
      case .red: " WHERE color IN ('red', 'blue')"
      case .highAndOdd: " WHERE n > 1 AND kind = 'odd'"
      }
    return "SELECT * FROM c\(collection)\(condition)"
  }

  /// Whether a document of this number matches whatever is written to it; `nil` when that depends.
  package func selects(_ document: DocumentName) -> Bool? {
    guard document.collection == collection else { return false }
    return switch form {
    case .all: true
    case .even: document.isEven
    case .odd: !document.isEven
    case .highAndOdd: document.isEven ? false : nil
    case .high, .red: nil
    }
  }
}

/// A line between two peers; the first one dials.
package struct LinkPlan: Codable, Hashable, Sendable {
  package var a: Int
  package var b: Int
  /// One way, in microseconds.
  package var latency = 1_000
  /// What may come on top, in microseconds.
  package var jitter = 200
  package var bytesPerSecond = 10_000_000
  /// The most that arrives at once.
  package var frameBytes = 64 << 10
  /// Of a thousand frames, how many have to be sent again.
  package var loss = 0
  /// Whether both ends take themselves to be on one machine.
  package var isLocal: Bool?

  package init(a: Int, b: Int) {
    self.a = a
    self.b = b
  }
}

/// A document by its numbers, from which its id follows.
package struct DocumentName: Codable, Hashable, Sendable, Comparable, CustomStringConvertible {
  package var collection: Int
  package var number: Int

  package init(_ collection: Int, _ number: Int) {
    self.collection = collection
    self.number = number
  }

  package static func < (a: DocumentName, b: DocumentName) -> Bool {
    a.collection != b.collection ? a.collection < b.collection : a.number < b.number
  }

  package var description: String { "c\(collection)/\(number)" }

  package var collectionName: String { "c\(collection)" }

  package var isEven: Bool { number % 2 == 0 }

  /// Whether it is deleted now and then; of the others every mark stays.
  package var isErasable: Bool { number % 3 == 2 }

  package var value: Value {
    switch number % 7 {
    case 5: .int(Int64(number) - 8)
    case 6: .string("\u{E9}e\u{301}\u{1F600}' \(Self.marker(collection))\(number)")
    default: .string("\(Self.marker(collection))\(number)")
    }
  }

  /// Stands in ids of a collection, so that they are seen in bytes.
  package static func marker(_ collection: Int) -> String { "~id\(collection)~" }
}
