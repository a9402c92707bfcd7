/// The head of an operation delta: one writer's write on top of a state both sides have.
///
/// It identifies that state by a part of its summary instead of vectors, and the resulting state by another
/// part. So a receiver knows before the merge whether the write fits or was already merged, and after it
/// whether the result is correct.
struct OperationDeltaHead {
  /// The author of the write.
  ///
  /// This is the place, from 1, of a writer among the newest writers of all sites in the base's vector, or a
  /// site that writes with a new birth. Superseded writers do not count, because states with one summary need
  /// not list the same ones.
  enum Author: Hashable {
    case known(place: Int)
    case new(SiteID)

    /// Makes the author from a site's newest writer, or from the site if the vector does not have it.
    init(_ site: SiteID, in vector: VersionVector) {
      var place = 0
      for (index, element) in vector.elements.enumerated() where vector.isNewest(index) {
        place += 1
        guard element.writer.site != site else {
          self = .known(place: place)
          return
        }
      }
      self = .new(site)
    }
  }

  /// The effect of the write on the life.
  enum Life: UInt8 {
    case stays = 0x20
    case dies = 0x60
    case lives = 0x61
  }

  var life: Life
  var step: WireStep
  var author: Author
  /// How long after the latest reading of the base the write was.
  var milliseconds: UInt64
  var counter: UInt16

  static func announces(_ bytes: RawSpan) -> Bool {
    bytes.byteCount > 0 && bytes.byte(at: 0) & WireWriter.operationDeltaFlag != 0
  }

  init(life: Life, step: WireStep, author: Author, reading: ClockReading, after latest: ClockReading) {
    self.life = life
    self.step = step
    self.author = author
    milliseconds = reading.milliseconds &- latest.milliseconds
    counter = reading.counter
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    guard let life = Life(rawValue: try reader.readByte()) else {
      throw reader.failure(.unsupportedVersion, "a successor has unknown flags")
    }
    self.life = life
    step = try WireStep(from: &reader)
    let place = try reader.readIndex(through: Limits.recordBytes)
    author = place == 0 ? .new(try reader.readSite()) : .known(place: place)
    guard author != .new(.zero) else { throw reader.failure(.malformed, "a writer has no site") }
    let word = try reader.readVarint()
    milliseconds = word >> 1
    counter = 0
    if word & 1 == 1 {
      let count = try reader.readVarint()
      guard count > 0, count <= UInt64(UInt16.max) else {
        throw reader.failure(.malformed, "a clock counter is out of range")
      }
      counter = UInt16(count)
    }
    guard word > 0, milliseconds <= ClockReading.latestAccepted.milliseconds else {
      throw reader.failure(.malformed, "a clock reading is out of range")
    }
  }

  func write(to out: inout ByteWriter) {
    out.write(life.rawValue)
    step.write(to: &out)
    switch author {
    case .known(let place): out.writeVarint(place)
    case .new(let site):
      out.writeVarint(0)
      out.write(site)
    }
    out.writeVarint(milliseconds << 1 | (counter == 0 ? 0 : 1))
    if counter > 0 { out.writeVarint(Int(counter)) }
  }

  /// Returns the write's clock reading on a base with that latest reading.
  ///
  /// It is `nil` if the result is not later than the base's, or beyond the latest accepted reading.
  func reading(after latest: ClockReading) -> ClockReading? {
    let reading = ClockReading(milliseconds: latest.milliseconds + milliseconds, counter: counter)
    return reading > latest && reading <= .latestAccepted ? reading : nil
  }
}

extension Summary {
  /// A part short enough to be sent along, and long enough to distinguish two contents of one version.
  package var check: UInt32 { UInt32(truncatingIfNeeded: high) }
}

/// The base state and the resulting state of an operation delta.
package struct WireStep: Hashable, Sendable {
  /// 48 bits of the base's summary.
  let base: UInt64
  /// 32 bits of the resulting state's summary, from the other lane.
  let result: UInt32

  init(from base: Summary, to result: Summary) {
    self.base = Self.name(of: base)
    self.result = result.check
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    let high: UInt16 = try reader.readFixed()
    let low: UInt32 = try reader.readFixed()
    base = UInt64(high) << 32 | UInt64(low)
    result = try reader.readFixed()
  }

  func write(to out: inout ByteWriter) {
    out.writeFixed(UInt16(truncatingIfNeeded: base >> 32))
    out.writeFixed(UInt32(truncatingIfNeeded: base))
    out.writeFixed(result)
  }

  private static func name(of base: Summary) -> UInt64 { base.low & 0xFFFF_FFFF_FFFF }

  func starts(from state: Summary) -> Bool { base == Self.name(of: state) }

  package func leads(to state: Summary) -> Bool { result == state.check }

  /// Whether the write can be merged with a state of that summary, or the state is already its result.
  package func fits(_ state: Summary) -> Bool { starts(from: state) || leads(to: state) }
}

/// The difference between two version vectors that one writer's latest write makes.
struct Succession: Sendable {
  let writer: Writer
  let author: OperationDeltaHead.Author
  let reading: ClockReading

  /// Makes a succession from its parts.
  init(writer: Writer, author: OperationDeltaHead.Author, reading: ClockReading) {
    self.writer = writer
    self.author = author
    self.reading = reading
  }

  /// - Returns: `nil` if more than one writer advanced, a superseded writer advanced, or the write is not
  ///   later than everything in the base.
  init?(from base: VersionVector, latest: ClockReading, to vector: VersionVector) {
    let growth = vector.elements.count - base.elements.count
    guard growth == 0 || growth == 1 else { return nil }
    var found: (element: VersionVector.Element, author: OperationDeltaHead.Author)?
    var (index, place) = (0, 0)
    for element in vector.elements {
      if index < base.elements.count, base.elements[index].writer == element.writer {
        let isNewest = base.isNewest(index)
        if isNewest { place += 1 }
        index += 1
        guard base.elements[index - 1].reading != element.reading else { continue }
        guard found == nil, growth == 0, isNewest else { return nil }
        found = (element, .known(place: place))
      } else {
        guard found == nil, growth == 1, element.reading == element.writer.birth else { return nil }
        found = (element, .new(element.writer.site))
      }
    }
    guard index == base.elements.count, let found, found.element.reading > latest else { return nil }
    writer = found.element.writer
    author = found.author
    reading = found.element.reading
  }
}

extension RecordView {
  /// Returns the version vector, and the latest reading of vector, life and floor.
  func history(sites: SiteTable) throws(CodecError) -> (vector: VersionVector, latest: ClockReading) {
    if isFresh { return (try vector(sites: sites), baseReading) }
    var reader = ByteReader(metadata)
    let head = try RecordHead(&reader, base: baseReading, sites: sites)
    let life = head.bareLife?.reading ?? head.life.reading
    return (head.vector, max(head.vector.latest, life, head.floor.reading))
  }
}

extension DocumentState {
  /// The greatest clock reading that the document has seen.
  var latest: ClockReading { max(vector.latest, life.reading, floor.reading) }
}
