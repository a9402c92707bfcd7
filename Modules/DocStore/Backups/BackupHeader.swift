import CRDTCore

/// The beginning of a file of a backup series: which state of which store it is, and what it follows.
struct BackupHeader {
  /// A file of a higher layer that is kept along.
  struct Carried {
    let name: String
    let bytes: [UInt8]
  }

  /// The key of all checksums of the series, by which files of another series are recognised.
  var key: SipHash
  var number: Int
  var isBase: Bool
  /// The checksum of the file before it; 0 for a base.
  var previous: UInt64
  var time: UInt64
  var sequence: UInt64
  var commitID: UInt64
  var site: SiteID
  var label: String
  var pageBytes: Int
  /// The number of pages of the store.
  var pageCount: Int
  /// The beginning of the store's meta page.
  var meta: [UInt8]
  var carried: [Carried]

  static let magic = Array("DNLNBKUP".utf8)
  static let version: UInt32 = 1
  /// The bytes before the fields: magic, version, and the length of the fields.
  static let prefixBytes = 16
  /// The greatest length of the fields: a few small files, and little else.
  static let fieldBytes = 1 << 24
  /// The length of a checksum.
  static let sumBytes = 8
  static let labelBytes = 255

  /// The header as it is in the file, with its checksum.
  var bytes: [UInt8] {
    var fields = ByteWriter()
    fields.writeFixed(key.first)
    fields.writeFixed(key.second)
    fields.writeFixed(UInt64(number))
    fields.write(isBase ? 1 : 0)
    fields.writeFixed(previous)
    fields.writeFixed(time)
    fields.writeFixed(sequence)
    fields.writeFixed(commitID)
    fields.write(site)
    fields.writeString(label)
    fields.writeFixed(UInt32(pageBytes))
    fields.writeFixed(UInt64(pageCount))
    fields.writeBlob(meta)
    fields.writeVarint(carried.count)
    for file in carried {
      fields.writeString(file.name)
      fields.writeBlob(file.bytes)
    }
    var writer = ByteWriter(capacity: fields.count + Self.prefixBytes + Self.sumBytes)
    writer.write(Self.magic)
    writer.writeFixed(Self.version)
    writer.writeFixed(UInt32(fields.count))
    writer.write(fields.bytes)
    writer.writeFixed(key.hash(writer.bytes.rawBytes))
    return writer.bytes
  }

  /// Reads the length of the fields from a file's first ``prefixBytes`` bytes.
  static func fieldCount(_ bytes: [UInt8]) throws(CodecError) -> Int {
    var reader = ByteReader(bytes.rawBytes)
    guard try reader.readBytes(magic.count).isEqual(to: magic.rawBytes) else {
      throw CodecError(.malformed, "it is no file of a backup series", at: 0)
    }
    let version: UInt32 = try reader.readFixed()
    guard version == Self.version else {
      throw CodecError(.malformed, "it has format \(version), this release reads \(Self.version)", at: 8)
    }
    let count: UInt32 = try reader.readFixed()
    guard count <= fieldBytes else { throw CodecError(.malformed, "its header is too long", at: 12) }
    return Int(count)
  }

  /// Reads a whole header with its checksum.
  init(_ bytes: [UInt8]) throws(CodecError) {
    let end = bytes.count - Self.sumBytes
    var reader = ByteReader(bytes.rawBytes, offset: Self.prefixBytes)
    key = SipHash(first: try reader.readFixed(), second: try reader.readFixed())
    var sum = ByteReader(bytes.rawBytes, offset: end)
    guard try sum.readFixed() == key.hash(bytes.rawBytes.extracting(0..<end)) else {
      throw CodecError(.malformed, "the checksum of its header does not hold", at: end)
    }
    func count(_ value: UInt64, at offset: Int) throws(CodecError) -> Int {
      guard value < 1 << 48 else { throw CodecError(.malformed, "a number is out of range", at: offset) }
      return Int(value)
    }
    number = try count(try reader.readFixed(), at: reader.offset)
    isBase = try reader.readByte() == 1
    previous = try reader.readFixed()
    time = try reader.readFixed()
    sequence = try reader.readFixed()
    commitID = try reader.readFixed()
    site = try reader.readSite()
    label = try reader.readString()
    let size: UInt32 = try reader.readFixed()
    pageBytes = Int(size)
    pageCount = try count(try reader.readFixed(), at: reader.offset)
    meta = try reader.readBlob().copied
    carried = []
    for _ in 0..<(try reader.readCount(minimumBytes: 2)) {
      let name = try reader.readString()
      guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), !name.utf8.contains(0) else {
        throw CodecError(.malformed, "a file that it carries has no proper name", at: reader.offset)
      }
      carried.append(Carried(name: name, bytes: try reader.readBlob().copied))
    }
    guard PageSize.isPossible(pageBytes), meta.count == BackupSnapshot.metaBytes,
      pageCount >= Environment.metaPages, reader.offset == end
    else { throw CodecError(.malformed, "its header describes no store", at: reader.offset) }
  }

  init(
    key: SipHash, number: Int, isBase: Bool, previous: UInt64, time: UInt64, log: LogState, site: SiteID,
    label: String, _ snapshot: BackupSnapshot, carried: [Carried]
  ) {
    (self.key, self.number, self.isBase, self.previous) = (key, number, isBase, previous)
    (self.time, sequence, commitID, self.site) = (time, log.sequence, log.commitID, site)
    (self.label, pageBytes, pageCount) = (label, snapshot.file.pageBytes, snapshot.file.meta.lastPage + 1)
    (meta, self.carried) = (snapshot.meta, carried)
  }
}
