import CRDTCore
import DocStore

/// Identifies a segment of a large transaction, which becomes visible as a whole with the last segment.
struct ComponentPart: Hashable, Sendable {
  /// The number of the segmented transaction in the session, from 1.
  let component: UInt64
  /// The number of the segment in its transaction, from 0.
  let part: UInt64
  let isLast: Bool

  init(component: UInt64, part: UInt64, isLast: Bool) {
    self.component = component
    self.part = part
    self.isLast = isLast
  }

  func encode(to out: inout ByteWriter) {
    out.writeVarint(component)
    out.writeVarint(part)
    out.write(isLast ? 1 as UInt8 : 0)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    component = try reader.readVarint()
    part = try reader.readVarint()
    guard part < StagedComponent.partLimit else { throw reader.failure(.limit, "a group has too many parts") }
    isLast = try reader.readFlag()
  }
}

/// Where to stage a received segment.
struct ComponentStep: Sendable {
  let name: ComponentName
  let part: ComponentPart

  var id: StagingID { name.id }
}

/// Tracks the segments of one large transaction, which must arrive in order.
struct IncomingComponent {
  private var open: (component: UInt64, next: UInt64, name: ComponentName)?

  /// Returns where to stage a segment; `nil` when an earlier segment is missing, which makes it useless.
  mutating func step(for part: ComponentPart, makeName: () -> ComponentName) -> ComponentStep? {
    if part.part == 0 {
      open = (part.component, 0, makeName())
    } else if open.map({ $0.component != part.component || $0.next != part.part }) ?? true {
      open = nil
    }
    guard let (component, next, name) = open else { return nil }
    open = part.isLast ? nil : (component, next + 1, name)
    return ComponentStep(name: name, part: part)
  }
}
