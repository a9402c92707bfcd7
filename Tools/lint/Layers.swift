import Foundation

// The program that Tools/lint/layers runs: it reads SwiftPM's dump of Package.swift, and checks that the
// modules keep to their layers.
//
// Usage: Layers check|write|plant PAGE, with the output of `swift package dump-package` on standard input.
// `plant` checks the package with one additional dependency, which goes up.

/// The layers of the mission from the bottom up; each module depends on lower layers only.
///
/// Each layer also has the modules that belong beside it.
let layers = [
  ["CLMDB", "CZlib", "Platform", "Failpoints", "BigPeerFiles"], ["CRDTCore"],
  ["DocStore", "QueryLanguage", "Links"], ["QueryEngine", "SyncProtocol", "LinkTesting"],
  ["DunlinFeed", "ScopePolicy"], ["Transports"], ["DunlinControl"], ["Facade"], ["DunlinKit", "BigPeer"],
  ["DunlinTesting"],
]
/// The modules that other packages can use alone, and that keep their names.
let products = [
  "CRDTCore", "DocStore", "QueryLanguage", "QueryEngine", "DunlinFeed", "SyncProtocol", "ScopePolicy",
  "Links", "Transports", "DunlinControl", "Facade",
]
/// These depend on nothing outside of the package but the toolchain, liblmdb and libz.
let cores = [
  "CRDTCore", "DocStore", "QueryLanguage", "QueryEngine", "DunlinFeed", "SyncProtocol", "ScopePolicy",
]

struct Manifest: Decodable {
  struct Product: Decodable {
    let name: String
    let targets: [String]
  }

  struct Target: Decodable {
    let name: String
    let path: String?
    var dependencies: [Dependency]
  }

  /// A target of this package, or a product of another one.
  struct Dependency: Decodable {
    let kind: String
    let name: String

    struct Kind: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init?(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }

    init(kind: String, name: String) {
      self.kind = kind
      self.name = name
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Kind.self)
      guard let key = container.allKeys.first else {
        throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no kind"))
      }
      var parts = try container.nestedUnkeyedContainer(forKey: key)
      kind = key.stringValue
      name = try parts.decode(String.self)
    }
  }

  let products: [Product]
  var targets: [Target]
}

func fail(_ lines: [String]) -> Never {
  FileHandle.standardError.write(Data((lines.joined(separator: "\n") + "\n").utf8))
  exit(1)
}

guard CommandLine.arguments.count == 3 else { fail(["usage: Layers check|write|plant PAGE"]) }
let (mode, page) = (CommandLine.arguments[1], CommandLine.arguments[2])
var manifest = try JSONDecoder().decode(Manifest.self, from: FileHandle.standardInput.readDataToEndOfFile())
if mode == "plant", let index = manifest.targets.firstIndex(where: { $0.name == "DocStore" }) {
  manifest.targets[index].dependencies.append(.init(kind: "byName", name: "SyncProtocol"))
}

// MARK: - Layers

let modules = manifest.targets.filter { $0.path?.hasPrefix("Modules/") ?? false }
let names = Set(modules.map(\.name))
var height: [String: Int] = [:]
for (index, layer) in layers.enumerated() { for name in layer { height[name] = index } }
var faults: [String] = []
for module in modules {
  guard let own = height[module.name] else {
    faults.append("\(module.name) has no layer: enter it in Tools/lint/Layers.swift")
    continue
  }
  for dependency in module.dependencies {
    if names.contains(dependency.name) {
      if height[dependency.name, default: .max] >= own {
        faults.append("\(module.name) depends on \(dependency.name), which is not below it")
      }
    } else if cores.contains(module.name) {
      faults.append("\(module.name) depends on \(dependency.name), which is not in this package")
    }
  }
}
for name in height.keys.sorted() where !names.contains(name) { faults.append("There is no module \(name)") }
for name in products where !manifest.products.contains(where: { $0.name == name && $0.targets == [name] }) {
  faults.append("There is no product \(name) of the module alone")
}
guard faults.isEmpty else { fail(faults) }

// MARK: - The picture

/// Each module's dependencies within the package, without those that it also has through another one.
let below = Dictionary(
  uniqueKeysWithValues: modules.map { module in
    (module.name, Set(module.dependencies.map(\.name).filter(names.contains)))
  })
func reach(_ name: String) -> Set<String> {
  below[name, default: []].reduce(into: below[name, default: []]) { $0.formUnion(reach($1)) }
}
var picture = ["```mermaid", "graph BT"]
for layer in layers {
  for name in layer.sorted() {
    let direct = below[name, default: []]
    let indirect = direct.reduce(into: Set<String>()) { $0.formUnion(reach($1)) }
    for lower in direct.subtracting(indirect).sorted() { picture.append("  \(lower) --> \(name)") }
  }
}
picture.append("```")

let (begin, end) = ("<!-- modules: Tools/lint/layers write -->", "<!-- modules end -->")
var lines = try String(contentsOfFile: page, encoding: .utf8).components(separatedBy: "\n")
guard let first = lines.firstIndex(of: begin), let last = lines.firstIndex(of: end), first < last else {
  fail(["\(page) has no place for the picture of modules: \(begin) … \(end)"])
}
if mode == "write" {
  lines.replaceSubrange((first + 1)..<last, with: picture)
  try lines.joined(separator: "\n").write(toFile: page, atomically: true, encoding: .utf8)
} else if Array(lines[(first + 1)..<last]) != picture {
  fail(["\(page) has another picture of modules than Package.swift: run Tools/lint/layers write"])
}
print("\(modules.count) modules depend strictly downward.")
