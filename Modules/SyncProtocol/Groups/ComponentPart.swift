import CRDTCore
import DocStore

/// Which part of a large group a sender sends: the whole becomes visible with the last one.
struct ComponentPart: Hashable, Sendable {
  /// Counts the groups that a session sends in parts, from 1.
  let component: UInt64
  /// Counts its parts, from 0.
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

/// Where a part that has come goes.
struct ComponentStep: Sendable {
  let name: ComponentName
  let part: ComponentPart

  var id: StagingID { name.id }
}

/// The parts of one large group as they come in: in their order, or not at all.
struct IncomingComponent {
  private var open: (component: UInt64, next: UInt64, name: ComponentName)?

  /// The place of a part; `nil` when one before it is missing, so that it is of no use.
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
