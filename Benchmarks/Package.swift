// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
  .enableUpcomingFeature("ImmutableWeakCaptures"),
  .enableExperimentalFeature("Lifetimes"),
]

func dunlin(_ product: String) -> Target.Dependency { .product(name: product, package: "dunlin") }

// A package of its own, so that whoever uses the library neither fetches nor builds it.
let package = Package(
  name: "dunlin-benchmarks",
  platforms: [.macOS(.v15)],
  products: [
    .executable(name: "instructions", targets: ["Instructions"]),
    .executable(name: "layers", targets: ["Layers"]),
    .executable(name: "observers", targets: ["Observers"]),
    .executable(name: "queries", targets: ["Queries"]),
    .executable(name: "replication", targets: ["Replication"]),
    .executable(name: "server", targets: ["Server"]),
    .executable(name: "store", targets: ["Store"]),
  ],
  traits: [
    .trait(name: "TLS", description: "Measures links with TLS, too, which takes minutes longer to build."),
    .trait(
      name: "Server", description: "Measures the big peer, which takes minutes longer to build.",
      enabledTraits: ["TLS"]),
  ],
  dependencies: [
    .package(
      name: "dunlin", path: "..",
      traits: [
        .trait(name: "TLS", condition: .when(traits: ["TLS"])),
        .trait(name: "Server", condition: .when(traits: ["Server"])),
      ]),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    // For the server alone: not even resolved without the trait.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
  ],
  targets: [
    .target(name: "BenchmarkSupport", path: "Support", swiftSettings: settings),
    .target(name: "RawLMDB", path: "RawLMDB", linkerSettings: [.linkedLibrary("lmdb"), .linkedLibrary("z")]),
    .target(name: "RawStore", dependencies: ["RawLMDB"], path: "RawStore", swiftSettings: settings),
    .executableTarget(
      name: "Store",
      dependencies: [
        "BenchmarkSupport", "RawLMDB", "RawStore", dunlin("CRDTCore"), dunlin("DocStore"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      path: "Store", swiftSettings: settings),
    .executableTarget(
      name: "Queries",
      dependencies: [
        "BenchmarkSupport", "RawLMDB", "RawStore", dunlin("CRDTCore"), dunlin("DocStore"),
        dunlin("QueryEngine"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      path: "Queries", swiftSettings: settings),
    .executableTarget(
      name: "Instructions",
      dependencies: [
        "BenchmarkSupport", dunlin("CRDTCore"), dunlin("DocStore"), dunlin("QueryEngine"),
        dunlin("DunlinKit"), dunlin("ScopePolicy"), dunlin("SyncProtocol"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Instructions", exclude: ["recorded.json"], swiftSettings: settings),
    .executableTarget(
      name: "Layers",
      dependencies: [
        "BenchmarkSupport", dunlin("CRDTCore"), dunlin("DocStore"), dunlin("QueryEngine"),
        dunlin("ScopePolicy"), dunlin("SyncProtocol"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Layers", swiftSettings: settings),
    .executableTarget(
      name: "Observers",
      dependencies: [
        "BenchmarkSupport", dunlin("DunlinKit"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Observers", swiftSettings: settings),
    .executableTarget(
      name: "Replication",
      dependencies: [
        "BenchmarkSupport", "RawLMDB", "RawStore",
        dunlin("CRDTCore"), dunlin("DocStore"), dunlin("QueryEngine"), dunlin("SyncProtocol"),
        dunlin("ScopePolicy"), dunlin("Transports"), dunlin("DunlinKit"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Replication", swiftSettings: settings),
    .systemLibrary(
      name: "CPostgres", path: "CPostgres", pkgConfig: "libpq",
      providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .executableTarget(
      name: "Server",
      dependencies: [
        "BenchmarkSupport", dunlin("BigPeer"), dunlin("CRDTCore"), dunlin("DocStore"),
        dunlin("QueryEngine"), dunlin("ScopePolicy"), dunlin("SyncProtocol"), dunlin("Transports"),
        .target(name: "CPostgres", condition: .when(traits: ["Server"])),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Server"])),
        .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Server"])),
        .product(
          name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Server"])),
      ],
      path: "Server", swiftSettings: settings),
  ]
)
