import TestKit

/// A file as a disk has it: what is durable, and for each sector every later version that may be on the disk.
struct SimulatedFile {
  /// What the smallest disks write at once; nothing within it tears.
  static let sectorBytes = 512
  /// What most disks write at once.
  static let blockBytes = 4_096

  private struct Version {
    /// The number of the write that made it.
    let write: Int
    let bytes: [UInt8]
  }

  private(set) var durable: [UInt8] = []
  private var pending: [Int: [Version]] = [:]
  /// Sizes the file had since the last sync, the newest last.
  private var sizes: [(write: Int, size: Int)] = []
  /// Whether it changes through memory too, so that it may hold anything.
  var isMapped = false

  var unsyncedWrites: Int { Set(pending.values.joined().map(\.write)).count }

  private var size: Int { sizes.last?.size ?? durable.count }

  private func newest(_ sector: Int) -> [UInt8] {
    if let version = pending[sector]?.last { return version.bytes }
    return durableSector(sector)
  }

  private func durableSector(_ sector: Int) -> [UInt8] {
    let start = sector * Self.sectorBytes
    guard start < durable.count else { return Array(repeating: 0, count: Self.sectorBytes) }
    let bytes = Array(durable[start..<min(start + Self.sectorBytes, durable.count)])
    return bytes + Array(repeating: 0, count: Self.sectorBytes - bytes.count)
  }

  /// Takes in a write; `number` orders it among all.
  mutating func write(_ bytes: ArraySlice<UInt8>, at offset: Int, number: Int, isDurable: Bool) {
    guard !bytes.isEmpty else { return }
    let end = offset + bytes.count
    let sectors = offset / Self.sectorBytes...(end - 1) / Self.sectorBytes
    for sector in sectors {
      var content = newest(sector)
      let start = sector * Self.sectorBytes
      let (first, last) = (max(offset, start), min(end, start + Self.sectorBytes))
      let source = bytes.startIndex + first - offset
      content.replaceSubrange(first - start..<last - start, with: bytes[source..<source + last - first])
      pending[sector, default: []].append(Version(write: number, bytes: content))
    }
    if end > size { sizes.append((number, end)) }
    if isDurable {
      grow(to: size)
      for sector in sectors { settle(sector) }
    }
  }

  mutating func truncate(to length: Int, number: Int) {
    if length < size {
      // Cut sectors read as zeros should the file grow again.
      for sector in pending.keys where sector * Self.sectorBytes >= length { pending[sector] = nil }
      if length < durable.count { durable.removeLast(durable.count - length) }
    }
    sizes.append((number, length))
  }

  mutating func sync() {
    grow(to: size)
    for sector in pending.keys.sorted() { settle(sector) }
  }

  /// The file when nothing was lost.
  var whole: [UInt8] {
    var copy = self
    copy.sync()
    return copy.durable
  }

  private mutating func grow(to size: Int) {
    if size > durable.count { durable += Array(repeating: 0, count: size - durable.count) }
    sizes = []
  }

  private mutating func settle(_ sector: Int) {
    guard let bytes = pending.removeValue(forKey: sector)?.last?.bytes else { return }
    put(bytes, sector, into: &durable)
  }

  private func put(_ bytes: [UInt8], _ sector: Int, into content: inout [UInt8]) {
    let start = sector * Self.sectorBytes
    guard start < content.count else { return }
    let end = min(start + Self.sectorBytes, content.count)
    content.replaceSubrange(start..<end, with: bytes[..<(end - start)])
  }

  /// What a disk may hold after the power failed, one of many.
  func afterPowerLoss(_ choice: CrashChoice, _ random: inout SeededGenerator) -> [UInt8] {
    var content = durable
    let newest = size
    if !sizes.isEmpty {
      let size = choice.keepsNewest(&random) ? newest : sizes[random.int(below: sizes.count)].size
      let kept = random.oneIn(8) ? durable.count : size
      content += Array(repeating: 0, count: max(0, kept - content.count))
      if kept < content.count { content.removeLast(content.count - kept) }
    }
    var dropped: [Int: Bool] = [:]
    var cuts: [Int: Int] = [:]
    for sector in pending.keys.sorted() {
      guard let versions = pending[sector] else { continue }
      let index: Int?
      switch choice.grain {
      case .write:
        index = versions.lastIndex { version in
          if let known = dropped[version.write] { return !known }
          let isDropped = !choice.keepsNewest(&random)
          dropped[version.write] = isDropped
          return !isDropped
        }
      case .sector, .block:
        let unit = choice.grain == .sector ? sector : sector * Self.sectorBytes / Self.blockBytes
        let time = cuts[unit] ?? (choice.keepsNewest(&random) ? .max : cut(versions, &random))
        cuts[unit] = time
        index = versions.lastIndex { $0.write <= time }
      }
      if let index { put(versions[index].bytes, sector, into: &content) }
    }
    if isMapped, random.oneIn(3) { content = content.map { _ in UInt8(truncatingIfNeeded: random.next()) } }
    return content
  }

  /// A moment before one of the writes.
  private func cut(_ versions: [Version], _ random: inout SeededGenerator) -> Int {
    versions[random.int(below: versions.count)].write - 1
  }
}

/// How much of what was not synced is lost, and in what pieces.
struct CrashChoice {
  enum Grain: CaseIterable {
    /// Writes are lost whole, in any combination.
    case write
    /// Writes tear, and are lost in pieces of a sector.
    case sector
    case block
  }

  let grain: Grain
  /// Of 16 pieces this many survive, on average.
  private let survivors: Int

  init(_ random: inout SeededGenerator) {
    grain = Grain.allCases[random.int(below: Grain.allCases.count)]
    survivors = [0, 2, 8, 14, 16][random.int(below: 5)]
  }

  func keepsNewest(_ random: inout SeededGenerator) -> Bool { random.int(below: 16) < survivors }
}
