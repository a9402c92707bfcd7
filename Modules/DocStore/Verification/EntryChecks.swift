import CRDTCore

/// Checks entries of all tables as they are visited, and whether the tables agree.
struct EntryChecks {
  var report = VerificationReport()
  /// The number of documents that were visited and cannot be read.
  private(set) var damagedDocuments = 0
  private var log = LogState()
  private var names: [UInt32: String] = [:]
  private var claimed: [UInt32: (alive: UInt64, records: UInt64)] = [:]
  private var found: [UInt32: (alive: UInt64, records: UInt64)] = [:]
  private var keys: [UInt32: [String]] = [:]
  private var expirySum: UInt64 = 0
  private var idSum: UInt64 = 0
  private var sites: [UInt32: SiteID] = [:]
  /// The same as a table, once all sites are known.
  private var siteTable: SiteTable?
  /// One above the last ordinal.
  private var siteEnd = 1
  /// A sum over the two tables that name each site that is not in memory at opening; 0 if the tables agree.
  private var siteSum: UInt64 = 0
  private var tables: (collection: UInt32, tables: RecordTables)?

  /// Checks one entry of the table called `table`; the small tables must come before `documents`.
  mutating func check(_ table: TextKey, _ key: [UInt8], _ value: ArraySlice<UInt8>) {
    report.entryCount += 1
    switch table {
    case "documents": checkDocument(key, Array(value))
    case "rows":
      let bytes = Array(value)
      if IndexRow(key: key.rawBytes, value: bytes.rawBytes) == nil {
        report.note(.index, "A row of an index is damaged: its key is \(Self.digits(key))")
      }
    case "ids", "recent": checkID(table.text, key, Array(value))
    case _ where Tables.names.contains(where: table.text.isSame):
      do {
        let bytes = try SmallRecord.open(Array(value).rawBytes, at: key.rawBytes, table: "")
        try checkSmall(table, key, bytes)
      } catch {
        report.note(.entry, "An entry of the table \(table) is damaged: its key is \(Self.digits(key))")
      }
    // A table of a later release.
    default: break
    }
  }

  private mutating func checkSmall(_ table: TextKey, _ key: [UInt8], _ value: [UInt8]) throws {
    var name = ByteReader(key.rawBytes)
    var reader = ByteReader(value.rawBytes)
    switch table {
    case "meta":
      if key == Array("log".utf8) { log = try LogState(&reader) }
      if FormerSites.isKey(key) { _ = try FormerSites(&reader) }
    case "collections":
      let id: UInt32 = try name.readFixed()
      claimed[id] = (try reader.readFixed(), try reader.readFixed())
      names[id] = try reader.readString()
      if Int(id) != names.count { throw CodecError(.malformed, "a gap") }
    case "keys":
      let collection: UInt32 = try name.readFixed()
      let id: UInt16 = try name.readFixed()
      let isNext = Int(id) == keys[collection, default: []].count && names[collection] != nil
      keys[collection, default: []].append(try reader.readString())
      if !isNext { throw CodecError(.malformed, "a gap") }
    case "sites":
      try checkSite(name.readFixed(), reader.readSite())
      _ = try reader.readFixed(as: UInt64.self)
    case "siteRuns": try checkRun(name.readFixed(), value)
    case "log": try checkLog(key, value)
    case _ where StoreTable.working.contains(where: { table.text.isSame(as: $0.name) }):
      // Keys and values are the concern of the module above, except for sites that must be kept.
      if table.text.isSame(as: StoreTable.siteKeyed.name) {
        _ = try name.readSite()
        if name.remaining > 0 { throw CodecError(.malformed, "no key") }
      }
    case "side":
      guard SideTable.isKey(key.rawBytes) else { throw CodecError(.malformed, "no key of a side table") }
    case "expiry": try checkExpiry(&name, &reader)
    case "certificates": _ = try Certificate(&reader, knownSites())
    case "indexes":
      // Statistics follow their index; they are compared with it once all definitions are known.
      if name.remaining == 4 { _ = try IndexState(&name, &reader) { names[$0] } }
    default:
      guard let collection = DocumentPath.collection(of: key.rawBytes), names[collection] != nil else {
        throw CodecError(.malformed, "a reference to nothing")
      }
      _ = try reader.readFixed(as: UInt64.self)
    }
  }

  private mutating func checkSite(_ ordinal: UInt32, _ site: SiteID) throws {
    guard Int(ordinal) >= siteEnd, Int(ordinal) < log.sites.stored, site != .zero else {
      throw CodecError(.malformed, "an ordinal that was not given")
    }
    // Missing ordinals were collected; the ordinals of sites that are in memory at opening have no gaps.
    let isGap = Int(ordinal) > siteEnd && Int(ordinal) > log.sites.settled
    siteEnd = Int(ordinal) + 1
    sites[ordinal] = site
    if Int(ordinal) < log.sites.settled { siteSum &+= Self.sum(site, ordinal) }
    if isGap { throw CodecError(.malformed, "a gap") }
  }

  private mutating func checkRun(_ first: UInt32, _ value: [UInt8]) throws {
    let stored = value + [0, 0, 0, 0]
    guard let count = SiteRun.count(stored.rawBytes), count > 0 else {
      throw CodecError(.malformed, "no run of sites")
    }
    var last = SiteID.zero
    for index in 0..<count {
      let member = SiteRun.member(index, of: stored.rawBytes, from: first)
      guard member.site >= last, sites[member.ordinal] == member.site else {
        throw CodecError(.malformed, "a reference to nothing")
      }
      last = member.site
      siteSum &-= Self.sum(member.site, member.ordinal)
    }
  }

  private static func sum(_ site: SiteID, _ ordinal: UInt32) -> UInt64 {
    HashLanes(site.high, site.low, seed: UInt64(ordinal)).first
  }

  /// Compares the two tables of sites.
  mutating func checkSiteSum() {
    let isShort = log.sites.settled < log.sites.stored && siteEnd < log.sites.stored
    guard siteSum != 0 || isShort, !report.damages.contains(where: { $0.kind == .entry }) else { return }
    report.note(.entry, "The tables of sites do not fit each other")
  }

  private func checkLog(_ key: [UInt8], _ value: [UInt8]) throws {
    guard let name = LogKey(key.rawBytes) else { throw CodecError(.malformed, "no key of the log") }
    let record = try LogRecord(value.rawBytes, kind: name.kind)
    let isKnown =
      record.lastMember <= log.lastNumber && record.head.lastNumber <= log.lastNumber
      && record.runs.allSatisfy { names[$0.collection] != nil }
      && record.evicted.allSatisfy { names[$0.collection] != nil }
    guard isKnown, log.logStart...max(log.sequence, log.logStart) ~= name.sequence else {
      throw CodecError(.malformed, "a reference to nothing")
    }
  }

  /// Sums over the two entries of each document, by time and by key: the sum is 0 if the two agree.
  private mutating func checkExpiry(_ key: inout ByteReader, _ value: inout ByteReader) throws {
    func sum(_ path: RawSpan, _ since: UInt64) throws -> UInt64 {
      guard let number = DocumentPath.collection(of: path), names[number] != nil else {
        throw CodecError(.malformed, "a reference to nothing")
      }
      return HashLanes(path, seed: since).first
    }
    switch try key.readByte() {
    case ExpiryTable.byTime:
      let since: UInt64 = try key.readFixed()
      expirySum &+= try sum(key.readBytes(key.remaining), since)
      if try value.readFixed() > log.sequence { throw CodecError(.malformed, "a reference to nothing") }
    case ExpiryTable.byDocument:
      let path = try key.readBytes(key.remaining)
      expirySum &-= try sum(path, value.readFixed())
    default: throw CodecError(.malformed, "an unknown kind")
    }
  }

  // MARK: - Documents

  private mutating func checkDocument(_ key: [UInt8], _ value: [UInt8]) {
    report.documentCount += 1
    if !checkRecord(key, value) { damagedDocuments += 1 }
  }

  /// Checks a document's row.
  ///
  /// - Returns: Whether the document can be read.
  private mutating func checkRecord(_ key: [UInt8], _ value: [UInt8]) -> Bool {
    guard let place = DocumentPlace(key.rawBytes), let name = names[place.collection] else {
      report.note(.entry, "A document belongs to a collection that does not exist: \(Self.digits(key))")
      return false
    }
    guard let row = DocumentRow(value.rawBytes, number: place.number) else {
      let message = "The document with the number \(place.number.rawValue) is damaged"
      report.note(.document, message, collection: name)
      return false
    }
    let id = row.id.copied
    @discardableResult
    func note(_ message: String) -> Bool {
      report.note(.document, message, collection: name, id: Self.digits(id))
      return false
    }
    guard row.isIntact(in: place.collection) else {
      return note("What stands before the record is damaged")
    }
    guard (try? DocumentID(validating: row.id)) != nil else { return note("The id is none") }
    idSum &-= Self.sum(DocumentPath.key(place.collection, id), place.number)
    let view = RecordView(row.record)
    found[place.collection, default: (0, 0)].records += 1
    guard view.verify() else { return note("The record's checksum does not hold") }
    if view.isAlive { found[place.collection, default: (0, 0)].alive += 1 }
    if row.sequence > log.sequence || place.number > log.lastNumber {
      note("The document is newer than the log")
    }
    do {
      let state = try DocumentState(view, tables: recordTables(of: place.collection))
      if state.summary != row.summary { note("The summary does not fit the record") }
      return true
    } catch {
      return note("The record cannot be read: \(error.message)")
    }
  }

  /// Sums over the two entries of each document, by id and by number: the sum is 0 if the two agree.
  private mutating func checkID(_ table: String, _ key: [UInt8], _ value: [UInt8]) {
    guard let (collection, start) = IDKey.parse(key.rawBytes), names[collection] != nil,
      let id = try? DocumentID(validating: key.rawBytes.extracting(start..<key.count)),
      let number = DocumentNumber(value.rawBytes), number <= log.lastNumber
    else {
      return report.note(.entry, "An entry of the table \(table) is damaged: its key is \(Self.digits(key))")
    }
    idSum &+= Self.sum(DocumentPath.key(collection, id.bytes), number)
  }

  private static func sum(_ path: [UInt8], _ number: DocumentNumber) -> UInt64 {
    HashLanes(path.rawBytes, seed: number.rawValue).first
  }

  /// Compares ids and numbers, unless a document or an entry is damaged, which makes that useless.
  mutating func checkIDSum() {
    guard idSum != 0, !report.damages.contains(where: { $0.kind == .document || $0.kind == .entry }) else {
      return
    }
    report.note(.entry, "The tables of ids and documents do not fit each other")
  }

  private mutating func knownSites() -> SiteTable {
    if let siteTable { return siteTable }
    let made = FoundSites.table(exchange(&sites, with: [:]))
    siteTable = made
    return made
  }

  private mutating func recordTables(of collection: UInt32) -> RecordTables {
    if let tables, tables.collection == collection { return tables.tables }
    let made = RecordTables(keys: KeyTable(names: keys[collection] ?? []), sites: knownSites())
    tables = (collection, made)
    return made
  }

  /// Compares the collections' counts with what was counted, unless documents cannot be reached.
  mutating func checkCounts() {
    for (id, claim) in claimed.sorted(by: { $0.key < $1.key }) {
      let count = found[id] ?? (0, 0)
      guard count != claim,
        !report.damages.contains(where: { $0.collection.map { TextKey($0) } == names[id].map { TextKey($0) } }
        )
      else { continue }
      report.note(
        .count,
        "\(claim.alive) living documents of \(claim.records) are counted, there are \(count.alive) of \(count.records)",
        collection: names[id])
    }
  }

  /// Compares the two sides of the table of expiry times.
  mutating func checkExpirySum() {
    if expirySum != 0 { report.note(.entry, "The two sides of the table expiry do not fit each other") }
  }

  static func digits(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
