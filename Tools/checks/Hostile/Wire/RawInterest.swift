import CRDTCore
import QueryEngine
import SyncProtocol

/// Subscriptions as they travel, in as many frames as they take.
enum RawInterest {
  /// A subscription that need not be one: its text is not looked at here.
  static func query(_ text: String, in collection: String = "beats", _ arguments: [(String, Value)] = [])
    -> [UInt8]
  {
    var out = ByteWriter()
    out.write(0 as UInt8)
    out.writeString(collection)
    out.writeString(text)
    out.writeVarint(arguments.count)
    for (name, value) in arguments {
      out.writeString(name)
      ValueCodec.write(value, to: &out)
    }
    return out.bytes
  }

  /// The frames of an interest of that generation.
  static func frames(_ queries: [[UInt8]], generation: Int = 1) -> [[UInt8]] {
    var parts: [[[UInt8]]] = [[]]
    var bytes = 0
    for query in queries {
      if bytes + query.count > 96 << 10, bytes > 0 {
        parts.append([])
        bytes = 0
      }
      parts[parts.count - 1].append(query)
      bytes += query.count
    }
    return parts.enumerated().map { index, part in
      FrameCodec.frame(.interest) { out in
        out.writeVarint(generation)
        out.write((index == 0 ? 1 : 0) | (index == parts.count - 1 ? 2 : 0) as UInt8)
        out.writeVarint(part.count)
        for query in part { out.writeBlob(query) }
      }
    }
  }

  /// The frames of an interest in all of a collection.
  static func all(of collection: String, generation: Int = 1) -> [[UInt8]] {
    frames([query("SELECT * FROM \(collection)", in: collection)], generation: generation)
  }
}
