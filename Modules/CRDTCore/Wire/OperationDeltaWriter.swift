/// Writes an operation delta over the tree; this is the reference for ``WireDelta``.
struct OperationDeltaWriter {
  private let stamp: Stamp
  private let writer: Writer
  private var out = ByteWriter()
  /// Whether the whole delta belongs to the one write.
  private var isOneWrite = true

  private init(_ succession: Succession) {
    writer = succession.writer
    stamp = Stamp(reading: succession.reading, site: writer.site)
  }

  /// Appends the write that led to `state`; `false`, with nothing appended, if it was more than one write.
  static func append(
    _ succession: Succession, from base: VersionVector, latest: ClockReading, step: WireStep,
    to state: DocumentState, out: inout ByteWriter
  ) -> Bool {
    var writer = OperationDeltaWriter(succession)
    var delta = state.delta(lacking: base, hasUnlisted: false)
    Self.dropDefaults(&delta.root)
    let isLife = state.life == writer.stamp && state.lifeBirth == writer.writer.birth
    OperationDeltaHead(
      life: isLife ? state.isAlive ? .lives : .dies : .stays, step: step, author: succession.author,
      reading: succession.reading, after: latest
    ).write(to: &writer.out)
    writer.write(delta.root.children)
    guard writer.isOneWrite else { return false }
    out.write(writer.out.bytes)
    return true
  }

  /// Drops default data, which is in every delta because no vector covers it; the receiver has the same.
  private static func dropDefaults(_ node: inout Node) {
    if let register = node.register, register.isDefault {
      switch register.content {
      case .counter(let state) where !state.contributions.isEmpty: break
      case .counter, .value, .map, .removed: node.register = nil
      }
    }
    for index in node.children.indices { dropDefaults(&node.children[index].node) }
    node.children.removeAll { $0.node.isEmpty }
  }

  private mutating func write(_ children: [Node.Child]) {
    out.writeVarint(children.count)
    for child in children {
      out.writeString(child.key.text)
      write(child.node)
    }
  }

  private mutating func write(_ node: Node) {
    guard let register = node.register else {
      if node.floor != nil { isOneWrite = false }
      out.write(WireWriter.emptyKind | WireWriter.childrenFlag)
      return write(node.children)
    }
    let isNew = register.stamp == stamp && register.birth == writer.birth
    if node.floor != nil || !isNew && !register.isCounter
      || register.content != .map && !node.children.isEmpty
    {
      isOneWrite = false
    }
    switch register.content {
    case .map:
      out.write(WireWriter.mapKind)
      write(node.children)
    case .removed: out.write(WireWriter.removedKind)
    case .counter(let state):
      if !isNew, state.contributions.isEmpty { isOneWrite = false }
      for contribution in state.contributions
      where contribution.writer != writer || contribution.reading != stamp.reading { isOneWrite = false }
      out.write(isNew ? WireWriter.counterKind : OperationDeltaReader.incrementKind)
      if isNew {
        out.writeSignedVarint(state.base)
        out.writeVarint(state.contributions.count)
      }
      for contribution in state.contributions { out.writeSignedVarint(contribution.amount) }
    case .value(let value):
      out.write(ValueCodec.tag(of: value).rawValue)
      ValueCodec.writeContent(value, to: &out)
    }
  }
}
