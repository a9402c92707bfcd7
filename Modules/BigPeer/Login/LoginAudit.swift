#if Server
  import CRDTCore
  package import Foundation

  /// The audit log of logins: new entries are added, and the oldest are removed when there are too many.
  ///
  /// Issued certificates and revocations are one list, refusals another. Otherwise refused requests could
  /// displace the entries of the first.
  package struct LoginAudit: Sendable {
    /// One of the two lists.
    package enum List: String, Hashable, Sendable, CaseIterable {
      /// Issued certificates and revocations.
      case issues
      case refusals

      fileprivate var table: LoginTable { self == .issues ? .audit : .refusals }
    }

    /// A page of entries of a list.
    package struct Page: Hashable, Sendable {
      /// The entries, the oldest first.
      package var events: [LoginEvent] = []
      /// Where the next page begins; an opaque text.
      package var next: String
    }

    /// How many entries are read from one snapshot for the devices.
    private static let slice = 1_000
    /// The maximum number of entries that one transaction removes.
    private static let sweep: UInt64 = 64
    private let storage: any LoginStorage
    private let limits: [List: UInt64]
    private let issued = IssuedDevices()

    package init(_ storage: any LoginStorage, _ limits: BigPeerConfiguration.LoginLimits) {
      self.storage = storage
      self.limits = [
        .issues: UInt64(limits.auditedIssues), .refusals: UInt64(limits.auditedRefusals),
      ]
    }

    /// Adds an entry; it is durable when this returns.
    ///
    /// - Throws: What the storage throws; then nothing was added.
    package func add(_ event: LoginEvent) async throws {
      try await storage.write { [self] tables in try add(event, to: tables) }
    }

    /// Adds an entry within the caller's transaction.
    func add(_ event: LoginEvent, to tables: any LoginTables) throws {
      let list: List = event.kind == .refused ? .refusals : .issues
      var range = try Self.range(of: list, in: tables)
      try tables.set(event.json, list.table, Self.key(range.upperBound))
      var start = range.lowerBound
      let end = range.upperBound + 1
      let most = limits[list] ?? 0
      for place in start..<min(start + Self.sweep, end) where end - start > most {
        try tables.set(nil, list.table, Self.key(place))
        start += 1
      }
      range = start..<end
      try tables.set(Self.key(start) + Self.key(end), .state, Array(list.rawValue.utf8))
    }

    /// Reads entries, the oldest first; damaged ones are skipped.
    ///
    /// - Parameters:
    ///   - list: The list to read.
    ///   - position: Where to begin, from an earlier page; `nil` begins with the newest `count` entries.
    ///   - count: The maximum number of entries.
    /// - Returns: The page; `nil` for an invalid position.
    /// - Throws: What the storage throws.
    package func events(_ list: List, after position: String?, count: Int) throws -> Page? {
      guard count > 0 else { return nil }
      var page: Page?
      try storage.read { tables in
        let range = try Self.range(of: list, in: tables)
        let start: UInt64
        if let position {
          guard let place = Self.place(position) else { return }
          start = min(max(place, range.lowerBound), range.upperBound)
        } else {
          start = max(range.lowerBound, range.upperBound - min(range.upperBound, UInt64(count)))
        }
        let (entries, next) = try Self.entries(list, in: start..<range.upperBound, count: count, of: tables)
        page = Page(events: entries.map(\.event), next: Self.position(next))
      }
      return page
    }

    /// Reads intact entries of a range; the next position is behind the last entry read, damaged or not.
    private static func entries(
      _ list: List, in range: Range<UInt64>, count: Int, of tables: any LoginTables
    ) throws -> (entries: [(place: UInt64, event: LoginEvent)], next: UInt64) {
      var entries: [(place: UInt64, event: LoginEvent)] = []
      var next = range.lowerBound
      func isWanted(_ key: [UInt8]) -> Bool {
        guard let place = place(key), place < range.upperBound, entries.count < count else { return false }
        next = place + 1
        return true
      }
      let first = key(range.lowerBound)
      try tables.forEach(list.table, from: first, damaged: { _ = isWanted($0) }) { key, value in
        guard isWanted(key) else { return false }
        if let event = LoginEvent(json: value) { entries.append((next - 1, event)) }
        return true
      }
      return (entries, next)
    }

    /// The devices that have a valid certificate, as far as the newest 100,000 issues in the log tell.
    ///
    /// The first call reads these entries, a later one only what was added since.
    /// - Parameter now: The time at which the certificates must be valid.
    /// - Returns: The last issue of each device whose key was not revoked since, the oldest first.
    /// - Throws: What the storage throws; the next call goes on where this one ended.
    /// - Complexity: O(*e* + *d* log *d*) in the entries that no call has read and the devices.
    package func devices(at now: Date) async throws -> [IssuedDevice] {
      var end: UInt64?
      while true {
        let slice = try issues(after: issued.next)
        issued.insert(slice)
        // What is added meanwhile is left for the next call.
        let last = end ?? slice.end
        guard issued.next ?? 0 < last else { return issued.valid(at: now) }
        end = last
        await Task.yield()
      }
    }

    /// Reads the issues from a position on, or the newest ones.
    private func issues(after former: UInt64?) throws -> IssuedDevices.Slice {
      var slice: IssuedDevices.Slice?
      try storage.read { tables in
        let range = try Self.range(of: .issues, in: tables)
        let end = range.upperBound
        let oldest = max(range.lowerBound, end - min(end, IssuedDevices.window))
        let start = former.map { $0 <= end ? max($0, oldest) : oldest } ?? oldest
        let (entries, next) = try Self.entries(.issues, in: start..<end, count: Self.slice, of: tables)
        slice = IssuedDevices.Slice(
          former: former, entries: entries, next: entries.count < Self.slice ? end : next, end: end)
      }
      guard let slice else { throw BigPeerError("the audit log of logins was not read") }
      return slice
    }

    // MARK: - Places

    /// The range of positions in a list; empty before its first entry.
    private static func range(of list: List, in tables: any LoginTables) throws -> Range<UInt64> {
      guard let stored = try tables.value(.state, Array(list.rawValue.utf8)), stored.count == 16,
        let start = place(Array(stored[..<8])), let end = place(Array(stored[8...])), start <= end
      else { return 0..<0 }
      return start..<end
    }

    private static func key(_ place: UInt64) -> [UInt8] {
      (0..<8).map { UInt8(truncatingIfNeeded: place >> (56 - 8 * $0)) }
    }

    private static func place(_ key: [UInt8]) -> UInt64? {
      key.count == 8 ? key.reduce(0) { $0 << 8 | UInt64($1) } : nil
    }

    private static func position(_ place: UInt64) -> String { String(place, radix: 36) }

    private static func place(_ position: String) -> UInt64? {
      position.utf8.count <= 13 ? UInt64(position, radix: 36) : nil
    }
  }
#endif
