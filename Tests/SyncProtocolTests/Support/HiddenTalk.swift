import CRDTCore
import SyncProtocol

/// What a frame of a receiver says of a collection that it must not tell of.
struct HiddenTalk {
  private(set) var found: [String] = []

  /// Decodes the frame, where it is one that could tell.
  init(in frame: [UInt8], about collection: String) throws {
    guard let bounds = try FrameCodec.bounds(in: frame.span.bytes, at: 0),
      let type = FrameType(rawValue: bounds.type)
    else { return }
    var reader = ByteReader(frame.span.bytes.extracting(bounds.payload))
    switch type {
    case .compare:
      _ = try reader.readVarint()
      for _ in 0..<(try reader.readCount()) {
        let question = try RangeQuestion(from: &reader)
        guard question.range.collection == collection, case .compare(let fingerprint) = question.mode else {
          continue
        }
        if fingerprint != Fingerprint() { found.append("a fingerprint") }
      }
    case .want:
      for want in try WantList(from: &reader).wants where want.collection == collection {
        if !want.vector.isEmpty { found.append("a vector of \(want.id.value)") }
      }
    case .have:
      for have in try DocumentHave.decode(from: &reader).haves where have.collection == collection {
        found.append("a notice of \(have.id.value)")
      }
    case .filter:
      _ = try reader.readVarint()
      let name = try reader.readString()
      _ = try reader.readVarint()
      _ = try reader.readVarint()
      let bits = try reader.readBlob()
      if name == collection, bits.byteCount != 1 { found.append("a filter") }
    default: return
    }
  }
}

extension [UInt8] {
  /// Whether a site's id stands anywhere.
  func contains(_ site: SiteID) -> Bool {
    var id = ByteWriter()
    id.write(site)
    guard count >= id.count else { return false }
    return (0...count - id.count).contains {
      self[$0] == id.bytes[0] && self[$0..<$0 + id.count].elementsEqual(id.bytes)
    }
  }
}
