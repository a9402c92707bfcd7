import CoreFoundation  // a structure of C belongs to the module that the compiler loads first: this one or Glibc
import Glibc
import TestKit

/// Files and names as a disk has them while events come in.
struct SimulatedDisk {
  private enum Node { case file(UInt32), directory(Int) }

  /// A name in a directory, which may itself get another name.
  private struct Name: Hashable {
    let directory: Int
    let text: String
  }

  private enum NameChange {
    case link(Name, Node)
    case rename(from: Name, to: Name, Node)
    case unlink(Name)

    var directories: [Int] {
      switch self {
      case .link(let name, _), .unlink(let name): [name.directory]
      case .rename(let from, let to, _): [from.directory, to.directory]
      }
    }
  }

  /// The directory that was there before everything else.
  let root: String
  private static let rootDirectory = 0

  private var files: [UInt32: SimulatedFile] = [:]
  private var directories = 1
  /// All names as running programs see them, and those that are durable.
  private var names: [Name: Node] = [:]
  private var durableNames: [Name: Node] = [:]
  /// Changes of names that no sync of their directory has made durable.
  private var pendingNames: [NameChange] = []
  private var writes = 0

  init(root: String) { self.root = root }

  var unsyncedWrites: Int { files.values.reduce(0) { $0 + $1.unsyncedWrites } }

  /// Takes in an event; one that is cut short has happened but nothing about it is durable.
  mutating func apply(_ event: RecordedEvent, isCutShort: Bool = false) {
    writes += 1
    switch event {
    case .create(let path, let file):
      files[file] = SimulatedFile()
      if let name = name(of: path) { change(.link(name, .file(file))) }
    case .write(let file, let offset, let bytes, let isDurable, _):
      files[file, default: SimulatedFile()].write(
        bytes, at: offset, number: writes, isDurable: isDurable && !isCutShort)
    case .truncate(let file, let length):
      files[file, default: SimulatedFile()].truncate(to: length, number: writes)
    case .sync(let file): if !isCutShort { files[file]?.sync() }
    case .rename(let from, let to):
      if let from = name(of: from), let to = name(of: to), let node = names[from] {
        change(.rename(from: from, to: to, node))
      }
    case .unlink(let path): if let name = name(of: path) { change(.unlink(name)) }
    case .makeDirectory(let path):
      if let name = name(of: path) { change(.link(name, .directory(directories))) }
      directories += 1
    case .syncDirectory(let path): if !isCutShort { settleNames(in: path) }
    case .map(let file): files[file]?.isMapped = true
    case .note: break
    }
  }

  private mutating func change(_ change: NameChange) {
    Self.apply(change, to: &names)
    pendingNames.append(change)
  }

  private static func apply(_ change: NameChange, to names: inout [Name: Node]) {
    switch change {
    case .link(let path, let node): names[path] = node
    case .unlink(let path): names[path] = nil
    case .rename(let from, let to, let node):
      names[from] = nil
      names[to] = node
    }
  }

  /// The directory at `path`, as running programs see it; `nil` for what lies elsewhere.
  private func directory(at path: String) -> Int? {
    guard path != root else { return Self.rootDirectory }
    guard path.hasPrefix(root + "/"), let name = name(of: path), case .directory(let number)? = names[name]
    else { return nil }
    return number
  }

  private func name(of path: String) -> Name? {
    guard let slash = path.lastIndex(of: "/"), let directory = directory(at: String(path[..<slash])) else {
      return nil
    }
    return Name(directory: directory, text: String(path[path.index(after: slash)...]))
  }

  private mutating func settleNames(in path: String) {
    guard let directory = directory(at: path) else { return }
    var left: [NameChange] = []
    for change in pendingNames {
      if change.directories.contains(directory) {
        Self.apply(change, to: &durableNames)
      } else {
        left.append(change)
      }
    }
    pendingNames = left
  }

  /// Writes to `target`, in place of the root, what may be found after the power failed.
  func realize(at target: String, _ shim: Shim, _ random: inout SeededGenerator) throws {
    let choice = CrashChoice(&random)
    var names = durableNames
    switch random.int(below: 4) {
    case 0: break
    case 1: for change in pendingNames { Self.apply(change, to: &names) }
    case 2:
      for change in pendingNames.prefix(random.int(below: pendingNames.count + 1)) {
        Self.apply(change, to: &names)
      }
    default: for change in pendingNames where random.oneIn(2) { Self.apply(change, to: &names) }
    }
    try write(names, at: target, shim) { $0.afterPowerLoss(choice, &random) }
  }

  /// Whether the files beneath the root are what the events say: if not, some changes escaped the shim.
  func matchesReality() throws -> Bool {
    for (path, node) in Self.tree(names) {
      guard case .file(let number) = node, let file = files[number], !file.isMapped else { continue }
      guard try Files.read(root + path) == file.whole else { return false }
    }
    return true
  }

  /// What can be reached from the root by its path from there, each directory before what it holds.
  private static func tree(_ names: [Name: Node]) -> [(path: String, node: Node)] {
    let held = Dictionary(grouping: names, by: \.key.directory)
    var found: [(path: String, node: Node)] = []
    var left = [(path: "", directory: rootDirectory)]
    while let next = left.popLast() {
      for (name, node) in (held[next.directory] ?? []).sorted(by: { $0.key.text < $1.key.text }) {
        let path = next.path + "/" + name.text
        found.append((path, node))
        if case .directory(let number) = node { left.append((path, number)) }
      }
    }
    return found
  }

  private func write(
    _ names: [Name: Node], at target: String, _ shim: Shim, _ content: (SimulatedFile) -> [UInt8]
  ) throws {
    Files.removeTree(target)
    mkdir(target, 0o700)
    shim.forgetAliases()
    for (path, node) in Self.tree(names) {
      let place = target + path
      switch node {
      case .directory: mkdir(place, 0o700)
      case .file(let number):
        guard let file = files[number] else { continue }
        try Files.write(content(file), to: place)
        var status = stat()
        guard stat(place, &status) == 0 else { throw Failure(.harness, "\(place) is not there") }
        shim.alias(UInt64(status.st_ino), for: number)
      }
    }
  }
}
