/// The type byte of a frame; receivers skip unknown types.
package enum FrameType: UInt8, CaseIterable, Sendable {
  case hello = 0x01
  case interest = 0x02
  case compare = 0x03
  case answer = 0x04
  case want = 0x05
  case have = 0x06
  case offer = 0x07
  case asked = 0x08
  case settled = 0x09
  case fragment = 0x0A
  case chunk = 0x0B
  case acknowledge = 0x0C
  case ping = 0x0D
  case pong = 0x0E
  case renew = 0x0F
  case filterWanted = 0x10
  case filter = 0x11
  case bye = 0x12
  case seen = 0x13
  case resume = 0x14
  case resumed = 0x15
  case announce = 0x16
  case mark = 0x17
  case prune = 0x19
  case run = 0x1B
  case staged = 0x20
  case reuse = 0x21
  case ask = 0x22
  case rows = 0x23
  case answered = 0x24
  case stopAsk = 0x25
  case renewed = 0x26
  case unreadable = 0x27
  case withheld = 0x28
  case presenceWanted = 0x29
  case presence = 0x2A
  case forecast = 0x2B
  case revocations = 0x2C
  case withdraw = 0x2D
}

extension FrameType {
  /// Whether the peer may still send its interest after such a frame, or sends it with the frame.
  var mayPrecedeInterest: Bool {
    switch self {
    case .staged, .interest, .resume, .unreadable, .withheld, .presenceWanted, .presence,
      .revocations:
      true
    default: false
    }
  }
}
