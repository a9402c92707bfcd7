import CRDTCore
import SyncProtocol

/// Frames that are wrong, or right and extreme, each on a connection of its own.
enum Shapes {
  /// Lengths and counts that are not those of what follows.
  static let lengths = Row.raw(
    "lengths", "lengths and counts larger than the data, negative, overlong, in every kind of frame"
  ) {
    attack(
      heads: heads, FrameType.allCases.flatMap { type in payloads.map { [frame(type, $0)] } } + longNames)
  }

  /// Heads of frames that are no good.
  private static let heads: [[UInt8]] = [
    [0xFF, 0xFF, 0x7F], [0x80, 0x00], [0x80, 0x80, 0x80, 0x80], [0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF],
    [UInt8](repeating: 0xFF, count: 64),
  ]

  private static let payloads: [[UInt8]] = [
    [], [0], [UInt8](repeating: 0, count: 64), [UInt8](repeating: 0xFF, count: 10),
    [UInt8](repeating: 0xFF, count: 100_000),
    // A count or a length of 2^63 - 1, of 2^32 - 1 and of 2^28 at each of the first positions, and an
    // overlong one.
    [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
    [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
    [1, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F], [1, 1, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
    [1, 3, 0x80, 0x80, 0x80, 0x80, 0x01], [1, 0x80, 0x00],
  ]

  /// An id of 1 MB, as it would come in a group, and a name of 100 KB.
  private static var longNames: [[[UInt8]]] {
    let document = RawDocument.fresh(at: ClockReading(milliseconds: RawDocument.now()))
    let long = [UInt8](repeating: 0x61, count: 1_000_000)
    return [
      RawGroup.chunks(RawGroup.bytes([.init([3] + long, document)])),
      RawGroup.chunks(
        RawGroup.bytes([.init([3], in: String(repeating: "c", count: 100_000), document)])),
    ]
  }

  /// Numbers at the ends of their ranges, and no numbers at all.
  static let numbers = Row.raw(
    "numbers", "NaN, infinities and the greatest and least integers wherever a number stands"
  ) {
    let words: [UInt64] = [
      0x7FF0_0000_0000_0001, 0x7FF0_0000_0000_0000, 0xFFF0_0000_0000_0000, 0xFFFF_FFFF_FFFF_FFFF,
      0x7FEF_FFFF_FFFF_FFFF, 1,
    ]
    let doubles: [[UInt8]] = words.map { word in
      var out = ByteWriter()
      out.write(4)
      out.writeFixed(word)
      return out.bytes
    }
    let nodes =
      doubles + [RawDocument.node(.int(.min)), RawDocument.node(.int(.max)), RawDocument.node(.double(.nan))]
    let reading = ClockReading(milliseconds: RawDocument.now())
    let documents = nodes.enumerated().map { number, node in
      RawGroup.fragments([
        RawGroup.bytes([
          .init(
            RawGroup.id("n\(number)"), in: "beats", RawDocument.fresh(at: reading, [(Array("v".utf8), node)])
          )
        ])
      ])
    }
    let values: [Value] = [.double(.nan), .double(.infinity), .double(1e300), .int(.min), .int(.max)]
    let interests = values.map { value in
      RawInterest.frames([
        RawInterest.query(
          "SELECT * FROM beats WHERE n / -1 > :v AND n % :v = abs(:v)", in: "beats", [("v", value)])
      ])
    }
    let extremes = [UInt64.max, UInt64(Int64.max), UInt64(Int64.max) + 1].flatMap { number in
      FrameType.allCases.flatMap { type in
        (1...5).map { count in
          [
            frame(type, varints(number, count)),
            frame(type, varints(number, count) + [UInt8](repeating: 0xFF, count: 16)),
          ]
        }
      }
    }
    return attack(documents + interests + extremes)
  }

  private static func varints(_ number: UInt64, _ count: Int) -> [UInt8] {
    var out = ByteWriter()
    for _ in 0..<count { out.writeVarint(number) }
    return out.bytes
  }

  /// What contains itself, as often as the bytes allow.
  static let nesting = Row.raw(
    "nesting", "documents, values and statements nested a million deep",
    setup: Scene.Setup(answersQueries: true)
  ) {
    let reading = ClockReading(milliseconds: RawDocument.now())
    let maps = [[UInt8]](repeating: [0x10, 1, 1, 0x61], count: 1_000_000).joined()
    let arrays = [[UInt8]](repeating: [7, 1], count: 1_000_000).joined()
    let documents = [Array(maps) + [0], Array(arrays) + [0]].map { node in
      RawGroup.chunks(
        RawGroup.bytes([.init(RawGroup.id("deep"), RawDocument.fresh(at: reading, [([0x61], node)]))]))
    }
    let conditions = [
      String(repeating: "(", count: 8_000),
      String(repeating: "(", count: 7_000) + "n" + String(repeating: ")", count: 7_000),
      String(repeating: "NOT ", count: 4_000) + "n", String(repeating: "- ", count: 7_000) + "n",
      "n" + String(repeating: ".n", count: 7_000), String(repeating: "[", count: 8_000),
      String(repeating: "CASE WHEN ", count: 1_500), "n" + String(repeating: " IN (n", count: 2_000),
    ]
    let statements = conditions.flatMap { condition in
      let text = "SELECT * FROM beats WHERE \(condition)"
      return [
        RawInterest.frames([RawInterest.query(text)]),
        [
          FrameCodec.frame(.ask) { out in
            out.writeVarint(1)
            out.writeString(text)
            out.writeVarint(0)
            for _ in 0..<3 { out.writeVarint(1_000) }
          }
        ],
      ]
    }
    let arguments = ([[7, 1], [8, 1, 1, 0x61]] as [[UInt8]]).map { level in
      var query = ByteWriter()
      query.write(0)
      query.writeString("beats")
      query.writeString("SELECT * FROM beats WHERE n = :v")
      query.writeVarint(1)
      query.writeString("v")
      query.write(Array([[UInt8]](repeating: level, count: 15_000).joined()) + [0])
      return RawInterest.frames([query.bytes])
    }
    return attack(documents + statements + arguments)
  }

  private static func frame(_ type: FrameType, _ payload: [UInt8]) -> [UInt8] {
    FrameCodec.frame(type) { $0.write(payload) }
  }

  /// Sends each shape on its own connection, eight at a time, until the end; `heads` are incomplete frames.
  private static func attack(heads: [[UInt8]] = [], _ shapes: [[[UInt8]]]) -> @Sendable (Target) -> Void {
    { target in
      target.lanes(8) { lane in
        target.again(lane: lane, pause: .milliseconds(2)) { connection, number in
          guard connection.isOpen else { return }
          let turn = (number * 8 + lane) % (heads.count + shapes.count)
          if turn < heads.count {
            connection.send(raw: heads[turn])
          } else {
            for frame in shapes[turn - heads.count] where connection.isOpen { connection.send(frame) }
          }
          connection.listen(for: .milliseconds(30))
        }
      }
    }
  }
}
