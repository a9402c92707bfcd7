import CRDTCore
import SyncProtocol

/// Any bytes as a stream of frames, as a frame's payload, and as each message that has its own decoder.
enum Target {
  static let seeds: [[UInt8]] = {
    let hello = Hello(
      versions: SyncLimits.versions, kind: .small, appID: "app", peerName: "phone", site: Samples.sites[0],
      logEpoch: 7)
    let want = WantList(
      reconciliation: 3, isTransaction: true,
      wants: [DocumentWant(whole: DocumentID(trusted: [1, 0x61]), in: "a")])
    let question = RangeQuestion.everything(1, KeyRange(collection: "a", from: [1], to: [2]))
    return [
      FrameCodec.frame(.hello, isFirst: true) { hello.encode(to: &$0) }
        + FrameCodec.frame(.ping) { $0.writeFixed(UInt64(1)) },
      bytes { hello.encode(to: &$0) }, bytes { want.encode(to: &$0) }, bytes { question.encode(to: &$0) },
    ]
  }()

  static func run(_ input: [UInt8]) {
    var offset = 0
    while let bounds = try? FrameCodec.next(in: input.span.bytes, at: offset) {
      precondition(
        bounds.end > offset && bounds.end <= input.count && bounds.payload.upperBound <= bounds.end)
      offset = bounds.end
    }
    let frame = FrameCodec.frame(rawType: 0xEE) { $0.write(input) }
    let bounds = try? FrameCodec.next(in: frame.span.bytes, at: 0)
    precondition(bounds?.end == frame.count && bounds?.type == 0xEE, "a frame is not read as it was written")

    var reader = ByteReader(input.span.bytes)
    if let hello = try? Hello(from: &reader) {
      let text = bytes { hello.encode(to: &$0) }
      var again = ByteReader(text.span.bytes)
      precondition((try? Hello(from: &again)) == hello, "another hello")
    }
    reader = ByteReader(input.span.bytes)
    _ = try? WantList(from: &reader)
    reader = ByteReader(input.span.bytes)
    _ = try? RangeQuestion(from: &reader)
    reader = ByteReader(input.span.bytes)
    _ = try? RangeAnswer(from: &reader)
    reader = ByteReader(input.span.bytes)
    _ = try? DocumentHave.decode(from: &reader)
    reader = ByteReader(input.span.bytes)
    _ = try? DocumentOffer.decode(from: &reader)
  }

  private static func bytes(_ body: (inout ByteWriter) -> Void) -> [UInt8] {
    var writer = ByteWriter()
    body(&writer)
    return writer.bytes
  }
}
