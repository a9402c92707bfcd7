import CRDTCore

/// What a receiver has dealt with so far, as totals of the session: applied and durable, or, of a group that is
/// not complete yet, staged.
struct Acknowledgement: Hashable {
  /// Bytes of fragment and chunk frames.
  var wireBytes: UInt64 = 0
  /// Plain bytes in them.
  var plainBytes: UInt64 = 0
  /// Groups applied, or left out for want of what they build on, in the order of their completion.
  var groups: UInt64 = 0
  /// Plain bytes that the receiver takes beyond these.
  var room: UInt64 = 0

  init() {}

  func encode(to out: inout ByteWriter) {
    out.writeVarint(wireBytes)
    out.writeVarint(plainBytes)
    out.writeVarint(groups)
    out.writeVarint(room)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    wireBytes = try reader.readVarint()
    plainBytes = try reader.readVarint()
    groups = try reader.readVarint()
    room = try reader.readVarint()
  }
}
