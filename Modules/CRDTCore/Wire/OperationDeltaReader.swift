/// Reads an operation delta from untrusted bytes over the tree; it refuses any form but the canonical one.
struct OperationDeltaReader: ~Escapable {
  /// Adds the writer's whole contribution to an existing counter or integer.
  static let incrementKind: UInt8 = 0x14

  private var reader: ByteReader
  private let stamp: Stamp
  private let birth: ClockReading
  /// Whether an increment is at a place without a number.
  private var isOnNothing = false

  @_lifetime(copy reader)
  private init(_ reader: consuming ByteReader, _ stamp: Stamp, _ birth: ClockReading) {
    self.reader = reader
    self.stamp = stamp
    self.birth = birth
  }

  /// Refuses bytes that are not one canonical operation delta.
  static func validate(_ bytes: RawSpan) throws(CodecError) {
    var reader = ByteReader(bytes)
    _ = try OperationDeltaHead(from: &reader)
    var entries = OperationDeltaReader(reader, .zero, .zero)
    _ = try entries.readAll(onto: Node())
  }

  /// Expands an operation delta to the equivalent delta on top of `state`.
  ///
  /// - Returns: `nil` if it does not fit the state.
  static func read(_ bytes: RawSpan, onto state: DocumentState) throws(CodecError) -> DocumentState? {
    var reader = ByteReader(bytes)
    let head = try OperationDeltaHead(from: &reader)
    guard let reading = head.reading(after: state.latest),
      let writer = writer(head.author, reading, in: state.vector)
    else {
      try validate(bytes)
      return nil
    }
    let stamp = Stamp(reading: reading, site: writer.site)
    var entries = OperationDeltaReader(reader, stamp, writer.birth)
    var delta = DocumentState(life: state.life, lifeBirth: state.lifeBirth, isAlive: state.isAlive)
    if head.life != .stays {
      delta.life = stamp
      delta.lifeBirth = writer.birth
      delta.isAlive = head.life == .lives
    }
    delta.base = state.vector
    delta.vector = state.vector
    delta.vector.advance(writer, to: reading)
    delta.root.children = try entries.readAll(onto: state.root)
    return entries.isOnNothing ? nil : delta
  }

  private static func writer(
    _ author: OperationDeltaHead.Author, _ reading: ClockReading, in vector: VersionVector
  ) -> Writer? {
    switch author {
    case .new(let site): Writer(site: site, birth: reading)
    case .known(let place): vector.newest(at: place)?.writer
    }
  }

  private mutating func readAll(onto root: Node) throws(CodecError) -> [Node.Child] {
    let children = try readChildren(depth: 0, onto: root)
    guard reader.isAtEnd else { throw reader.failure(.malformed, "a document has bytes left over") }
    return children
  }

  private mutating func readChildren(depth: Int, onto standing: Node?) throws(CodecError) -> [Node.Child] {
    guard depth <= Limits.depth else { throw reader.failure(.limit, "a document is nested too deep") }
    var previous: TextKey?
    var children: [Node.Child] = []
    for _ in 0..<(try reader.readKeyCount()) {
      let key = try ValueCodec.readFieldName(&reader, depth: depth, after: &previous)
      children.append(Node.Child(key: key, node: try readNode(depth: depth + 1, onto: standing?[key])))
    }
    return children
  }

  private mutating func readNode(depth: Int, onto standing: Node?) throws(CodecError) -> Node {
    let start = reader.offset
    let kind = try reader.readByte()
    var node = Node()
    switch kind {
    case WireWriter.emptyKind | WireWriter.childrenFlag:
      node.children = try readChildren(depth: depth, onto: standing)
      guard !node.children.isEmpty else {
        throw CodecError(.malformed, "an entry holds nothing", at: start)
      }
    case WireWriter.mapKind:
      put(.map, in: &node)
      node.children = try readChildren(depth: depth, onto: standing)
    case WireWriter.removedKind: put(.removed(overDefault: false), in: &node)
    case WireWriter.counterKind:
      var counter = CounterState(base: try reader.readSignedVarint())
      if try reader.readIndex(through: 1) == 1 { counter.contributions = [try readContribution()] }
      put(.counter(counter), in: &node)
    case Self.incrementKind:
      let contribution = try readContribution()
      guard let register = standing?.register, let counter = register.content.asCounter else {
        isOnNothing = true
        return node
      }
      node.register = register
      node.register?.content = .counter(CounterState(base: counter.base, contributions: [contribution]))
    default:
      guard let tag = ValueCodec.Tag(rawValue: kind), tag != .map, tag != .counter else {
        throw CodecError(.malformed, "an entry has an unknown kind", at: start)
      }
      put(.value(try ValueCodec.readContent(tag, &reader, depth: depth)), in: &node)
    }
    return node
  }

  private func put(_ content: Register.Content, in node: inout Node) {
    node.register = Register(stamp: stamp, birth: birth, content: content)
  }

  private mutating func readContribution() throws(CodecError) -> CounterState.Contribution {
    CounterState.Contribution(
      writer: Writer(site: stamp.site, birth: birth), reading: stamp.reading,
      amount: try reader.readSignedVarint())
  }
}
