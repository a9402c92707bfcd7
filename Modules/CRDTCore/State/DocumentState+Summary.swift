/// The hashes of the parts of a document's state; all code that computes summaries uses these.
enum StateHash {
  static let root = HashLanes(0x726F_6F74, 0x6475_6E6C)

  @inline(__always)
  static func site(_ site: SiteID) -> HashLanes { HashLanes(site.high, site.low, seed: 1) }

  static func stamp(_ stamp: Stamp) -> HashLanes { self.stamp(stamp.reading, site(stamp.site)) }

  @inline(__always)
  static func stamp(_ reading: ClockReading, _ site: HashLanes) -> HashLanes {
    HashLanes(reading.rawValue, 0, seed: 2).combined(with: site)
  }

  static func life(_ stamp: Stamp, isAlive: Bool) -> HashLanes {
    HashLanes(stamp.reading.rawValue, isAlive ? 1 : 0, seed: 3).combined(with: site(stamp.site))
  }

  static func floor(_ stamp: Stamp) -> HashLanes {
    HashLanes(stamp.reading.rawValue, 0, seed: 4).combined(with: site(stamp.site))
  }

  static func included(_ element: VersionVector.Element) -> HashLanes {
    included(element.writer.birth, element.reading, site(element.writer.site))
  }

  @inline(__always)
  static func included(_ birth: ClockReading, _ reading: ClockReading, _ site: HashLanes) -> HashLanes {
    HashLanes(birth.rawValue, reading.rawValue, seed: 5).combined(with: site)
  }

  static let map = HashLanes(0, 0, seed: 6)

  @inline(__always)
  static func bits(_ bits: UInt64, _ tag: ValueCodec.Tag) -> HashLanes {
    HashLanes(bits, UInt64(tag.rawValue), seed: 7)
  }

  static func bytes(_ bytes: RawSpan, _ tag: ValueCodec.Tag) -> HashLanes {
    HashLanes(bytes, seed: 0x100 + UInt64(tag.rawValue))
  }

  static func contribution(_ contribution: CounterState.Contribution) -> HashLanes {
    HashLanes(contribution.reading.rawValue, UInt64(bitPattern: contribution.amount), seed: 8)
      .combined(with: site(contribution.writer.site))
      .combined(with: HashLanes(contribution.writer.birth.rawValue, 0, seed: 9))
  }

  static func value(_ value: Value) -> HashLanes {
    switch value {
    case .null: return bits(0, .null)
    case .bool(let value): return bits(value ? 1 : 0, .no)
    case .int(let value): return bits(UInt64(bitPattern: value), .int)
    case .double(let value): return bits(ValueCodec.canonicalBits(value), .double)
    case .counter(let value): return bits(UInt64(bitPattern: value), .counter)
    case .string(let value):
      var value = value
      return value.withUTF8 { unsafe bytes(RawSpan(_unsafeElements: $0), .string) }
    case .decimal(let value): return self.value(.string(value.text))
    case .bytes(let value): return bytes(value.span.bytes, .bytes)
    case .array, .map, .attachment:
      var writer = ByteWriter()
      ValueCodec.write(value, to: &writer)
      return bytes(writer.bytes.span.bytes, .array)
    }
  }
}

extension DocumentState {
  /// The hash of the whole state: live entries, life, floor and version vector.
  package var summary: Summary {
    var sum = envelopeSummary
    Self.addEntries(of: root, path: StateHash.root, to: &sum)
    return sum
  }

  /// The part of the summary without the entries.
  var envelopeSummary: Summary {
    var sum = Summary.zero
    sum.add(StateHash.life(life, isAlive: isAlive))
    if floor > .zero { sum.add(StateHash.floor(floor)) }
    // Superseded writers do not count: a peer that no longer lists them has the same state.
    for index in vector.elements.indices where vector.isNewest(index) {
      sum.add(StateHash.included(vector.elements[index]))
    }
    return sum
  }

  private static func addEntries(of node: Node, path: HashLanes, to sum: inout Summary) {
    for child in node.children {
      let path = path.combined(with: HashLanes(child.key))
      if let register = child.node.register { register.addHash(path: path, to: &sum) }
      addEntries(of: child.node, path: path, to: &sum)
    }
  }
}

extension Register {
  /// Adds a live register's hash; removals do not count, because they may be collected.
  func addHash(path: HashLanes, to sum: inout Summary) {
    let entry = path.combined(with: StateHash.stamp(stamp))
    switch content {
    case .removed: return
    case .map: sum.add(entry.combined(with: StateHash.map))
    case .value(let value): sum.add(entry.combined(with: StateHash.value(value)))
    case .counter(let state):
      sum.add(entry.combined(with: StateHash.value(.counter(state.base))))
      for contribution in state.contributions {
        sum.add(path.combined(with: StateHash.contribution(contribution)))
      }
    }
  }
}
