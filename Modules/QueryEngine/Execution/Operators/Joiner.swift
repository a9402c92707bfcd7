import CRDTCore
import DocStore
import Failpoints

/// Joins the frames of a query's sources: a nested loop over them, from the first to the last.
///
/// A source is read by id or by index for each row of the sources before it. Where a source is hashed, or
/// tried as a whole, its documents are kept in memory from the first row on.
struct Joiner {
  /// A source, ready to be read from one snapshot.
  private struct Level {
    /// Its position among the sources.
    let place: Int
    let input: StagedPlan.Input
    /// The number of rows that were joined with its documents.
    var joined = 0
    /// `nil` for a virtual collection, and for a collection that was never written.
    let collection: DocStore.Collection?
    let reader: SlotReader
    var matcher: RecordMatcher
    let condition: FrameExpression?
    let probe: FrameExpression?
    /// The slots of its documents, once they are read.
    var partners: [[Value?]]?
    /// The positions in `partners` of the documents with each value.
    var table: [ValueKey: [Int]] = [:]
  }

  private var levels: [Level] = []
  private let facts: SystemFacts
  private let context: StatementContext
  private var pace: ScanPace

  init(
    _ plan: StagedPlan, in source: borrowing some RecordSource & ~Copyable, _ facts: SystemFacts,
    _ context: StatementContext
  ) throws {
    self.facts = facts
    self.context = context
    pace = try ScanPace(context)
    for (place, input) in plan.inputs.enumerated() {
      var collection: DocStore.Collection?
      if try SystemCollection.named(input.plan.collection) == nil {
        collection = try source.collection(input.plan.collection)
      }
      var matcher = try RecordMatcher(input.plan.filter, context: context)
      matcher.resolve(collection?.keys ?? KeyTable())
      levels.append(
        Level(
          place: place, input: input, collection: collection,
          reader: SlotReader(input, collection?.keys ?? KeyTable()), matcher: matcher,
          condition: input.join.map { FrameExpression($0.condition, context) },
          probe: input.join?.method.probe(context)))
    }
  }

  /// Calls `body` with each frame until it returns `false`.
  mutating func forEachFrame(
    _ slotCount: Int, in source: borrowing some RecordSource & ~Copyable,
    _ body: (borrowing Frame) throws -> Bool
  ) throws {
    var frame = Frame(repeating: nil, count: slotCount)
    let first = levels[0]
    _ = try forEachDocument(first, in: source, &frame) { (joiner, frame) in
      try joiner.extend(1, &frame, in: source, body)
    }
    context.profile?.note { section in
      for level in levels {
        section.scans[level.place, default: StatementProfile.Scan()].joined = level.joined
      }
    }
  }

  /// Adds the partners of the sources from `level` on to a frame.
  private mutating func extend<S: RecordSource & ~Copyable>(
    _ level: Int, _ frame: inout Frame, in source: borrowing S, _ body: (borrowing Frame) throws -> Bool
  ) throws -> Bool {
    guard level < levels.count else { return try body(frame) }
    try pace.step()
    let step = levels[level]
    guard let join = step.input.join, let condition = step.condition else { return true }
    var isMatched = false
    let goesOn = try forEachPartner(level, join.method, in: source, &frame) { joiner, frame in
      guard try condition.accepts(frame) else { return true }
      isMatched = true
      joiner.levels[level].joined += 1
      return try joiner.extend(level + 1, &frame, in: source, body)
    }
    guard goesOn, !isMatched, join.keepsUnmatched else { return goesOn }
    step.reader.clear(&frame)
    levels[level].joined += 1
    return try extend(level + 1, &frame, in: source, body)
  }

  private typealias Visit = (inout Joiner, inout Frame) throws -> Bool

  private mutating func forEachPartner<S: RecordSource & ~Copyable>(
    _ level: Int, _ method: StagedPlan.JoinMethod, in source: borrowing S, _ frame: inout Frame,
    _ visit: Visit
  ) throws -> Bool {
    let step = levels[level]
    let value = try step.probe?.evaluate(frame)
    // Nothing equals NULL or MISSING.
    if step.probe != nil, value == nil || value == .null { return true }
    switch method {
    case .id:
      guard let id = value?.asIdentifier.flatMap({ try? DocumentID($0) }) else { return true }
      return try visitDocument(id, step, in: source, &frame, visit)
    case .index(let index, _):
      guard let value, value.standsUnderOneKey else {
        return try forEachDocument(step, in: source, &frame, visit)
      }
      var lookup = step.input.plan
      let span = QueryDefect.joinMissesPartner.isPlanted ? IndexSpan(from: .after([value])) : .equal([value])
      lookup.access = .index(IndexScan(index, [span]))
      lookup.isCovering = false
      return try forEachDocument(step, lookup, in: source, &frame, visit)
    case .hash(let partner, _):
      try readPartners(level, in: source, frame, key: FrameExpression(partner, context))
      for place in levels[level].table[ValueKey(value)] ?? [] {
        guard try visitPartner(place, level, &frame, visit) else { return false }
      }
    case .scan:
      try readPartners(level, in: source, frame, key: nil)
      for place in (levels[level].partners ?? []).indices {
        guard try visitPartner(place, level, &frame, visit) else { return false }
      }
    }
    return true
  }

  private mutating func visitPartner(
    _ place: Int, _ level: Int, _ frame: inout Frame, _ visit: Visit
  ) throws -> Bool {
    try pace.step()
    guard let partner = levels[level].partners?[place] else { return true }
    frame.replaceSubrange(levels[level].reader.slots, with: partner)
    return try visit(&self, &frame)
  }

  /// Reads all documents of a source once, and builds a hash table of them where there is a key.
  private mutating func readPartners<S: RecordSource & ~Copyable>(
    _ level: Int, in source: borrowing S, _ frame: Frame, key: FrameExpression?
  ) throws {
    guard levels[level].partners == nil else { return }
    let slots = levels[level].reader.slots
    var partners: [[Value?]] = []
    var table: [ValueKey: [Int]] = [:]
    var frame = frame
    _ = try forEachDocument(levels[level], in: source, &frame) { joiner, frame in
      let partner = Array(frame[slots])
      if let key {
        let value = try key.evaluate(frame)
        if value == nil || value == .null { return true }
        table[ValueKey(value), default: []].append(partners.count)
      }
      try joiner.context.reserve(partner.memoryBytes)
      partners.append(partner)
      return true
    }
    levels[level].partners = partners
    levels[level].table = table
  }

  private mutating func forEachDocument<S: RecordSource & ~Copyable>(
    _ level: Level, _ plan: Plan? = nil, in source: borrowing S, _ frame: inout Frame, _ visit: Visit
  ) throws -> Bool {
    let plan = plan ?? level.input.plan
    var goesOn = true
    if case .virtual(let virtual) = plan.access {
      let documents = try virtual.documents(in: source, facts, context)
      for document in try plan.matches(in: documents, context) where goesOn {
        level.reader.read(document, into: &frame)
        goesOn = try visit(&self, &frame)
      }
      return goesOn
    }
    guard let collection = level.collection else { return true }
    if plan.isCovering {
      try plan.forEachCovered(in: source, place: level.place, collection, context) { cover, _ in
        level.reader.read(cover, &frame)
        goesOn = try visit(&self, &frame)
        return goesOn
      }
      return goesOn
    }
    var meter = ScanMeter(context, source: level.place)
    defer { meter.finish() }
    try plan.access.forEachRecord(in: source, collection, context) { id, record in
      try pace.step()
      guard record.isAlive, try meter.accepts(level.matcher, id, record) else { return true }
      try level.reader.read(id, record, into: &frame)
      meter.pause()
      defer { meter.resume() }
      goesOn = try visiting(id) { try visit(&self, &frame) }
      return goesOn
    }
    return goesOn
  }

  private mutating func visitDocument<S: RecordSource & ~Copyable>(
    _ id: DocumentID, _ level: Level, in source: borrowing S, _ frame: inout Frame, _ visit: Visit
  ) throws -> Bool {
    guard let collection = level.collection else { return true }
    var meter = ScanMeter(context, source: level.place)
    defer { meter.finish() }
    let goesOn = try source.withRecord(collection, id) { record, _ in
      guard record.isAlive, try meter.accepts(level.matcher, id.bytes.span.bytes, record) else { return true }
      try level.reader.read(id.bytes.span.bytes, record, into: &frame)
      meter.pause()
      defer { meter.resume() }
      return try visiting(id.bytes.span.bytes) { try visit(&self, &frame) }
    }
    return goesOn ?? true
  }

  /// Reports a failure on a row as a failure on the document that completes the row.
  private func visiting(_ id: RawSpan, _ body: () throws -> Bool) throws -> Bool {
    do {
      return try body()
    } catch let error as QueryError where error.code == .runtime {
      throw error.about(id)
    }
  }
}

extension StagedPlan.JoinMethod {
  /// The expression whose value is looked up for each row.
  fileprivate func probe(_ context: StatementContext) -> FrameExpression? {
    switch self {
    case .id(let value), .index(_, let value), .hash(_, let value): FrameExpression(value, context)
    case .scan: nil
    }
  }
}

extension Value {
  /// Whether values that are equal, and no others, have the same key in an index.
  fileprivate var standsUnderOneKey: Bool {
    switch self {
    case .bool, .int, .string, .bytes, .counter: true
    case .double(let number): !number.isNaN
    case .null, .array, .map, .attachment, .decimal: false
    }
  }
}
